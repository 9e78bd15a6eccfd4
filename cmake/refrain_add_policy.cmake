# refrain_add_policy(NAME FILE...): a plug-in NAME.so from files of policies, the same that could stand in
# policies/<kind>/ of the tree. `refrain run|replay|policies|check --plugin NAME.so` loads it, and scenarios that
# name it in `plugins`.
function(refrain_add_policy name)
  if(NOT ARGN)
    message(FATAL_ERROR "refrain_add_policy(${name}): expected files behind the name")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE Refrain::policy)
  # The program and the plug-in share one registry, so its symbols must be seen.
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
endfunction()
