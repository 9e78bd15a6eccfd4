# What every target of ours has in common.

add_library(refrain_options INTERFACE)
target_include_directories(refrain_options INTERFACE ${CMAKE_SOURCE_DIR})
# Contraction to fused multiply-add would make results depend on the compiler's choice.
target_compile_options(refrain_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  $<$<CXX_COMPILER_ID:GNU>:-Werror>  # clang builds the fuzzers only, and warns of other things
  -Wno-missing-field-initializers  # designated initialisers leave out what is default
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 sees overlaps in std::string that are not there (its bug 105651)
   -ffp-contract=off -fno-math-errno)
target_compile_definitions(refrain_options INTERFACE
  $<$<CONFIG:Debug>:REFRAIN_DEBUG_CHECKS=1>)
if(REFRAIN_SANITIZE)
  target_compile_options(refrain_options INTERFACE
    -fsanitize=${REFRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(refrain_options INTERFACE -fsanitize=${REFRAIN_SANITIZE})
endif()

if(REFRAIN_FUZZ)
  target_compile_options(refrain_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_package(PkgConfig REQUIRED)

# refrain_room(NAME [OBJECT] SOURCES... LINK targets...): the library of one room.
function(refrain_room name)
  cmake_parse_arguments(ARG "OBJECT" "" "SOURCES;LINK" ${ARGN})
  if(ARG_OBJECT)
    add_library(${name} OBJECT ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  target_link_libraries(${name} PUBLIC refrain_options ${ARG_LINK})
endfunction()

# refrain_embed(TARGET VARIABLE FILES...): compiles text files into TARGET as
# `std::span<const embedded_file> VARIABLE()`, so that the program needs no data folder.
function(refrain_embed target variable)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp)
  list(JOIN ARGN "|" joined)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DVARIABLE=${variable} -DFILES=${joined}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
