// `refrain new`: writes the one file that a policy needs. In a checkout it goes where the build
// finds it, elsewhere into the working directory, to be built as a plug-in. It never overwrites.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "policies/eviction.hpp"
#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "traces/embedded.hpp"
#include "traces/error.hpp"

namespace refrain {

/// The text of each kind's file, "@NAME@" where the name stands.
std::span<const embedded_file> policy_templates();

namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_letters_max = 32;

void check_kind(const std::string& what, const std::string& kind) {
  if (what != "policy") {
    constexpr std::string_view known[] = {"policy"};
    throw usage_error{"new: " + unknown_name("thing", what, known)};
  }
  if (kind == eviction_entry::kind) {
    return;
  }
  for (const policy_info* info : all_policies()) {
    if (info->kind == kind && kind != "bound") {
      throw usage_error{
          fmt::format("new: there is a template for eviction policies only; for {} "
                      "start from a copy of policies/{}/{}.cpp",
                      kind, kind, info->name)};
    }
  }
  constexpr std::string_view known[] = {"eviction"};
  throw usage_error{"new: " + unknown_name("kind", kind, known)};
}

void check_name(const std::string& name) {
  if (!is_policy_name(name) || name.size() > name_letters_max) {
    throw input_error{"new policy eviction " + name,
                      fmt::format("expected a name in snake_case (a to z, 0 to 9, _) of at most {} "
                                  "letters, such as second_chance",
                                  name_letters_max)};
  }
  for (const policy_info* info : all_policies()) {
    if (info->name == name && (info->kind == eviction_entry::kind || info->kind == "bound")) {
      throw input_error{"new policy eviction " + name,
                        fmt::format("the name is taken: {}", info->summary)};
    }
  }
  // The class is named NAME_eviction, as templates of ours are.
  if (name == "register" || name == "register_run") {
    throw input_error{"new policy eviction " + name, "the name is not free in C++"};
  }
}

/// The root of the checkout around the working directory; empty where there is none.
fs::path checkout() {
  std::error_code error;
  for (fs::path at = fs::current_path(error); !at.empty() && !error; at = at.parent_path()) {
    if (fs::exists(at / "policies" / "eviction.hpp", error) && fs::exists(at / "dev", error)) {
      return at;
    }
    if (at == at.root_path()) {
      break;
    }
  }
  return {};
}

std::string text_of(std::string_view kind, const std::string& name) {
  std::string text;
  for (const embedded_file& file : policy_templates()) {
    if (file.name == kind) {
      text = file.text;
    }
  }
  REFRAIN_ASSERT(!text.empty());
  constexpr std::string_view mark = "@NAME@";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), name);
  }
  return text;
}

/// Creates the file; one that exists is left as it is.
void write_new(const fs::path& path, const std::string& text) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    throw input_error{path.string(),
                      errno == EEXIST ? std::string{"exists already; nothing was written"}
                                      : fmt::format("cannot be written: {}", std::strerror(errno))};
  }
  ssize_t written = write(file, text.data(), text.size());
  bool is_whole = close(file) == 0 && written == static_cast<ssize_t>(text.size());
  if (!is_whole) {
    unlink(path.c_str());
    throw run_error{fmt::format("{}: could not be written whole", path.string())};
  }
}

void print_next_steps(const fs::path& path, const std::string& name, bool in_checkout) {
  std::cout << fmt::format("wrote {}\n\n", path.string());
  if (in_checkout) {
    std::cout << fmt::format(
        "./dev refrain check {0}      builds it and checks it\n"
        "./dev refrain policies eviction\n"
        "policies/README.md           how to go on\n",
        name);
    return;
  }
  std::cout << fmt::format(
      "To build it against the installed package, in CMakeLists.txt:\n\n"
      "  cmake_minimum_required(VERSION 3.25)\n"
      "  project({0} LANGUAGES CXX)\n"
      "  find_package(Refrain REQUIRED)\n"
      "  refrain_add_policy({0} {1})\n\n"
      "then cmake -B build && cmake --build build, and\n"
      "refrain check {0} --plugin build/{0}.so\n",
      name, path.string());
}

}  // namespace

void new_command(const std::vector<std::string>& words) {
  arguments given{"new", "new policy eviction NAME [-o FILE]",
                  "Writes a policy that compiles and passes refrain check, to be changed into "
                  "yours: policies/eviction/NAME.cpp of the checkout around the working "
                  "directory; outside of one NAME.cpp, to be built as a plug-in."};
  given.word("WHAT", "policy");
  given.word("KIND", "eviction");
  given.word("NAME", "its name, in snake_case");
  given.option("output,o", "FILE", "write it there instead");
  if (!given.parse(words)) {
    return;
  }
  std::string what = given.required("WHAT");
  std::string kind = given.required("KIND");
  std::string name = given.required("NAME");
  check_kind(what, kind);
  check_name(name);
  fs::path root = checkout();
  bool in_checkout = !root.empty() && !given.has("output");
  fs::path path = given.has("output") ? fs::path{given.one("output")}
                  : in_checkout       ? fs::proximate(root / "policies" / kind / (name + ".cpp"))
                                      : fs::path{name + ".cpp"};
  write_new(path, text_of(kind, name));
  print_next_steps(path, name, in_checkout);
}

}  // namespace refrain
