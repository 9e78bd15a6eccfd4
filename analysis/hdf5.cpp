// The small handles over HDF5's C API: errors, files, groups and attributes. Tables are in
// hdf5_table.cpp. The library's own printing of errors is off; its innermost error becomes the
// message, with the operating system's words where it has them.
#include "analysis/hdf5.hpp"

#include <utility>

#include "analysis/hdf5_call.hpp"
#include "traces/error.hpp"

namespace refrain::hdf5 {
namespace {

struct innermost {
  std::string text;
  std::string system;
};

herr_t note_error(unsigned, const H5E_error2_t* error, void* data) {
  auto& found = *static_cast<innermost*>(data);
  std::string text = error->desc == nullptr ? "" : error->desc;
  constexpr std::string_view mark = "error message = '";
  if (auto at = text.find(mark); at != std::string::npos && found.system.empty()) {
    at += mark.size();
    found.system = text.substr(at, text.find('\'', at) - at);
  }
  if (found.text.empty()) {
    found.text = std::move(text);
  }
  return 0;
}

/// A string type of `size` bytes, or of any length with H5T_VARIABLE.
handle string_type(const std::string& file, std::size_t size) {
  handle type = own(file, "string type", H5Tcopy(H5T_C_S1), H5Tclose);
  check(file, "string type", H5Tset_size(type.get(), size));
  check(file, "string type", H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
}

/// Access properties of every file: one format version, no locks (a killed run must stay
/// readable, also on file systems without them), and no close while something is still open.
handle file_access(const std::string& file, H5F_libver_t oldest = H5F_LIBVER_V110) {
  handle access = own(file, "access", H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(file, "access", H5Pset_libver_bounds(access.get(), oldest, H5F_LIBVER_V110));
  check(file, "access", H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI));
  check(file, "access", H5Pset_file_locking(access.get(), false, true));
  return access;
}

/// Creation properties of a group, or of a file's root with H5P_FILE_CREATE.
handle group_creation(const std::string& file, hid_t type) {
  handle creation = own(file, "properties", H5Pcreate(type), H5Pclose);
  check(file, "properties", H5Pset_obj_track_times(creation.get(), false));
  check(file, "properties",
        H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
  return creation;
}

handle create_file(const std::string& name, const handle& access) {
  handle creation = group_creation(name, H5P_FILE_CREATE);
  hid_t id = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
  return own(name, "cannot create the file", id, H5Fclose);
}

void write_attribute(const group& where, const std::string& name, hid_t stored, hid_t memory,
                     const void* value) {
  handle space = own(where.file(), name, H5Screate(H5S_SCALAR), H5Sclose);
  hid_t id = H5Acreate2(where.id(), name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT);
  handle attribute = own(where.file(), name, id, H5Aclose);
  check(where.file(), name, H5Awrite(attribute.get(), memory, value));
}

void read_attribute(const group& where, const std::string& name, hid_t memory, void* value) {
  hid_t id = H5Aopen(where.id(), name.c_str(), H5P_DEFAULT);
  handle attribute = own(where.file(), name, id, H5Aclose);
  check(where.file(), name, H5Aread(attribute.get(), memory, value));
}

}  // namespace

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

void silence_library() {
  static const bool once = [] {
    // After a file that could not be closed (a full disk), the library's farewell at exit crashes;
    // we close all files ourselves.
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  static_cast<void>(once);
}

void fail(const std::string& file, const std::string& what) {
  innermost found;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_error, &found);
  std::string reason = found.system.empty() ? found.text : found.system;
  throw run_error{file + ": " + what + (reason.empty() ? "" : ": " + reason)};
}

void write_text_attribute(hid_t object, const std::string& file, const std::string& name,
                          std::string_view value) {
  std::string text{value};
  const char* pointer = text.c_str();
  handle type = string_type(file, H5T_VARIABLE);
  handle space = own(file, name, H5Screate(H5S_SCALAR), H5Sclose);
  hid_t id = H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT);
  handle attribute = own(file, name, id, H5Aclose);
  check(file, name, H5Awrite(attribute.get(), type.get(), &pointer));
}

std::string read_text_attribute(hid_t object, const std::string& file, const std::string& name) {
  handle attribute = own(file, name, H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  handle type = string_type(file, H5T_VARIABLE);
  char* pointer = nullptr;
  check(file, name, H5Aread(attribute.get(), type.get(), static_cast<void*>(&pointer)));
  std::string text = pointer == nullptr ? "" : pointer;
  H5free_memory(pointer);
  return text;
}

handle fixed_string_type(const std::string& file, std::size_t size) {
  handle type = string_type(file, size == 0 ? 1 : size);
  check(file, "string type", H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  return type;
}

handle::handle(handle&& other) noexcept
    : id_{std::exchange(other.id_, H5I_INVALID_HID)}, close_{other.close_} {}

handle& handle::operator=(handle&& other) noexcept {
  if (this != &other) {
    static_cast<void>(close());
    id_ = std::exchange(other.id_, H5I_INVALID_HID);
    close_ = other.close_;
  }
  return *this;
}

herr_t handle::close() noexcept {
  hid_t id = std::exchange(id_, H5I_INVALID_HID);
  if (id < 0) {
    return 0;
  }
  std::scoped_lock lock{library_mutex()};
  return close_(id);
}

group group::create(const std::string& name) {
  std::scoped_lock lock{library_mutex()};
  handle creation = group_creation(file_, H5P_GROUP_CREATE);
  hid_t id = H5Gcreate2(id_.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT);
  return {own(file_, "cannot make group " + name, id, H5Gclose), file_};
}

group group::open(const std::string& name) const {
  std::scoped_lock lock{library_mutex()};
  hid_t id = H5Gopen2(id_.get(), name.c_str(), H5P_DEFAULT);
  return {own(file_, "no group " + name, id, H5Gclose), file_};
}

bool group::has(const std::string& name) const {
  std::scoped_lock lock{library_mutex()};
  htri_t exists = H5Lexists(id_.get(), name.c_str(), H5P_DEFAULT);
  check(file_, name, exists);
  return exists > 0;
}

std::vector<std::string> group::names() const {
  std::scoped_lock lock{library_mutex()};
  std::vector<std::string> result;
  auto visit = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  check(file_, "cannot list a group",
        H5Literate(id_.get(), H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, visit, &result));
  return result;
}

void group::set_text(const std::string& attribute, std::string_view value) {
  std::scoped_lock lock{library_mutex()};
  write_text_attribute(id_.get(), file_, attribute, value);
}

void group::set_integer(const std::string& attribute, std::int64_t value) {
  std::scoped_lock lock{library_mutex()};
  write_attribute(*this, attribute, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void group::set_unsigned(const std::string& attribute, std::uint64_t value) {
  std::scoped_lock lock{library_mutex()};
  write_attribute(*this, attribute, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

bool group::has_attribute(const std::string& attribute) const {
  std::scoped_lock lock{library_mutex()};
  htri_t exists = H5Aexists(id_.get(), attribute.c_str());
  check(file_, attribute, exists);
  return exists > 0;
}

std::string group::text(const std::string& attribute) const {
  std::scoped_lock lock{library_mutex()};
  return read_text_attribute(id_.get(), file_, attribute);
}

std::int64_t group::integer(const std::string& attribute) const {
  std::scoped_lock lock{library_mutex()};
  std::int64_t value = 0;
  read_attribute(*this, attribute, H5T_NATIVE_INT64, &value);
  return value;
}

std::uint64_t group::unsigned_integer(const std::string& attribute) const {
  std::scoped_lock lock{library_mutex()};
  std::uint64_t value = 0;
  read_attribute(*this, attribute, H5T_NATIVE_UINT64, &value);
  return value;
}

void group::write_text(const std::string& name, std::string_view value) {
  std::scoped_lock lock{library_mutex()};
  std::string text{value};
  const char* pointer = text.c_str();
  handle creation = own(file_, "properties", H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(file_, "properties", H5Pset_obj_track_times(creation.get(), false));
  handle type = string_type(file_, H5T_VARIABLE);
  handle space = own(file_, name, H5Screate(H5S_SCALAR), H5Sclose);
  hid_t id = H5Dcreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                        creation.get(), H5P_DEFAULT);
  handle dataset = own(file_, "cannot make " + name, id, H5Dclose);
  check(file_, "cannot write " + name,
        H5Dwrite(id, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer));
}

std::string group::read_text(const std::string& name) const {
  std::scoped_lock lock{library_mutex()};
  hid_t id = H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT);
  handle dataset = own(file_, "no " + name, id, H5Dclose);
  handle type = string_type(file_, H5T_VARIABLE);
  char* pointer = nullptr;
  check(file_, "cannot read " + name,
        H5Dread(id, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, static_cast<void*>(&pointer)));
  std::string text = pointer == nullptr ? "" : pointer;
  H5free_memory(pointer);
  return text;
}

file file::create(const std::filesystem::path& path) {
  std::scoped_lock lock{library_mutex()};
  silence_library();
  return {create_file(path.string(), file_access(path.string())), path.string()};
}

file file::create_in_memory(const std::filesystem::path& path) {
  std::scoped_lock lock{library_mutex()};
  silence_library();
  constexpr std::size_t growth = 1 << 18;
  // H5Fget_file_image clears the superblock's flags and leaves its checksum wrong (the library's
  // fault 1915, mended in 2025); only the oldest superblock has no checksum.
  handle access = file_access(path.string(), H5F_LIBVER_EARLIEST);
  check(path.string(), "access", H5Pset_fapl_core(access.get(), growth, false));
  return {create_file(path.string(), access), path.string()};
}

file file::open(const std::filesystem::path& path) {
  std::scoped_lock lock{library_mutex()};
  silence_library();
  std::string name = path.string();
  handle access = file_access(name);
  hid_t id = H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get());
  return {own(name, "cannot open the file", id, H5Fclose), name};
}

file file::reopen(const std::filesystem::path& path) {
  std::scoped_lock lock{library_mutex()};
  silence_library();
  std::string name = path.string();
  handle access = file_access(name);
  hid_t id = H5Fopen(name.c_str(), H5F_ACC_RDWR, access.get());
  return {own(name, "cannot open the file", id, H5Fclose), name};
}

group file::root() const {
  std::scoped_lock lock{library_mutex()};
  hid_t id = H5Gopen2(id_.get(), "/", H5P_DEFAULT);
  return {own(name_, "no root group", id, H5Gclose), name_};
}

std::vector<std::byte> file::image() {
  std::scoped_lock lock{library_mutex()};
  check(name_, "cannot write", H5Fflush(id_.get(), H5F_SCOPE_GLOBAL));
  ssize_t size = H5Fget_file_image(id_.get(), nullptr, 0);
  check(name_, "cannot take the file's bytes", size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  check(name_, "cannot take the file's bytes",
        H5Fget_file_image(id_.get(), bytes.data(), bytes.size()));
  return bytes;
}

void file::close() {
  std::scoped_lock lock{library_mutex()};
  check(name_, "cannot write the file", id_.close());
}

}  // namespace refrain::hdf5
