// The result writer: streams buffer up to 1,024 rows, write them as a small HDF5 file composed in
// memory (the disk is touched by one plain write, outside HDF5's mutex). The final file is put
// together from packed chunks, or from the parts where a table has strings.
#include "analysis/results_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "analysis/durable_file.hpp"
#include "analysis/hdf5.hpp"
#include "analysis/packed_chunks.hpp"
#include "analysis/results_layout.hpp"
#include "analysis/results_reader.hpp"
#include "traces/error.hpp"

namespace refrain {

using row_watcher = std::function<void(const table& rows)>;

/// One stream: its buffered rows and how much of it is on disk.
struct stream_state {
  std::filesystem::path folder;
  part_name next;
  table buffer;
  hdf5::table_extent extent;
  std::optional<packed_chunks> chunks;
  row_watcher watcher;  // may be empty

  void write_part();
  void merge_into(hdf5::group& contender) const;
};

/// A writer: its files and, per contender, its streams in the order in which they were opened.
struct writer_state {
  std::filesystem::path path;
  std::filesystem::path folder;
  run_description run;
  std::vector<std::vector<std::unique_ptr<stream_state>>> streams;
  std::vector<std::map<std::string, row_watcher>> watchers;  // per contender, by table
  bool finished = false;
  int lock = -1;

  ~writer_state() {
    if (lock >= 0) {
      ::close(lock);
    }
  }
  void flush(std::size_t contender);
  void merge(const std::filesystem::path& target) const;
  void add(const std::filesystem::path& target, const final_tables& last) const;
};

namespace {

namespace fs = std::filesystem;

void write_image(const fs::path& path, const auto& fill) {
  std::vector<std::byte> bytes;
  {
    hdf5::file file = hdf5::file::create_in_memory(path);
    {
      hdf5::group root = file.root();
      fill(root);
    }
    bytes = file.image();
  }
  write_whole_file(path, bytes);
}

bool is_snake_case(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_names(const run_description& run) {
  std::set<std::string> seen;
  for (const contender_description& c : run.contenders) {
    if (c.name.empty() || c.name == "." || c.name.find('/') != std::string::npos) {
      throw input_error{"contender", "\"" + c.name + "\" cannot be a contender's name: expected " +
                                         "a name without \"/\""};
    }
    if (!seen.insert(c.name).second) {
      throw input_error{"contender", "two contenders are called \"" + c.name + "\""};
    }
  }
}

/// Only one run may write to a name: the lock goes with the process, however it ends.
constexpr const char* lock_name = "lock";

bool is_part_file(const fs::path& path) {
  std::string name = path.filename().string();
  if (name == lock_name) {
    return true;
  }
  if (name.ends_with(".tmp")) {
    name.resize(name.size() - 4);
  }
  return name == "run.h5" || packed_chunks::is_chunk(name) || part_name::parse(name).has_value();
}

/// Empties a parts folder, run.h5 first: without it what is left cannot pass for a run. A file that
/// is not ours stops everything.
void empty_parts(const fs::path& folder) {
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator{folder}) {
      if (!is_part_file(entry.path())) {
        throw run_error{folder.string() + ": holds " + entry.path().filename().string() +
                        ", which is not a part of a run; move it away"};
      }
    }
    fs::remove(folder / "run.h5");
    for (const fs::directory_entry& entry : fs::directory_iterator{folder}) {
      if (entry.path().filename() != lock_name) {
        fs::remove(entry.path());
      }
    }
  } catch (const fs::filesystem_error& e) {
    throw run_error{folder.string() + ": cannot be removed: " + e.code().message()};
  }
}

void make_parts_folder(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw run_error{path.string() + ": is a folder"};
  }
  fs::create_directory(folder, error);
  std::error_code unseen;
  if (!fs::is_directory(folder, unseen)) {
    error = error ? error : unseen;
    throw run_error{path.string() + ": cannot be written: " +
                    (error ? error.message() : folder.string() + " is no folder")};
  }
}

/// Claims the parts folder for this process. Throws input_error when another run holds it.
int lock_parts(const fs::path& path, const fs::path& folder) {
  int lock = ::open((folder / lock_name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (lock < 0) {
    throw run_error{path.string() + ": cannot be written: " + std::strerror(errno)};
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    throw input_error{path.string(), "another run is writing it now"};
  }
  return lock;
}

void write_last_tables(hdf5::group& root, const final_tables& last) {
  if (!last.comparison.columns.empty()) {
    hdf5::write_table(root, "comparison", last.comparison);
  }
  if (!last.bounds.columns.empty()) {
    hdf5::write_table(root, "bounds", last.bounds);
  }
  table warnings{{text_column("text", "what this run cannot show, or what a reader must know")}};
  warnings.columns[0].texts() = last.warnings;
  hdf5::write_table(root, "warnings", warnings);
}

}  // namespace

void stream_state::write_part() {
  write_image(folder / next.text(), [&](hdf5::group& root) { hdf5::write_table(root, buffer); });
  extent.add(buffer);
  if (chunks) {
    chunks->append(buffer);
  }
  if (watcher) {
    watcher(buffer);
  }
  buffer.clear();
  ++next.number;
}

void stream_state::merge_into(hdf5::group& contender) const {
  hdf5::group where = contender.create(next.table);
  hdf5::table_appender appender{where, buffer, extent};
  if (chunks) {
    chunks->copy_to(appender);
    return;
  }
  part_name part = next;
  for (part.number = 0; part.number < next.number; ++part.number) {
    hdf5::file file = hdf5::file::open(folder / part.text());
    appender.append(hdf5::read_table(file.root()));
  }
}

void writer_state::flush(std::size_t contender) {
  for (const auto& stream : streams[contender]) {
    part_stream{*stream}.flush();
    if (stream->chunks) {
      stream->chunks->close();
    }
  }
}

void writer_state::merge(const fs::path& target) const {
  hdf5::file file = hdf5::file::create(target);
  {
    hdf5::group root = file.root();
    write_description(root, run);
    hdf5::group contenders = root.open("contenders");
    for (std::size_t i = 0; i < streams.size(); ++i) {
      hdf5::group contender = contenders.open(run.contenders[i].name);
      for (const auto& stream : streams[i]) {
        stream->merge_into(contender);
      }
    }
  }
  file.close();
}

void writer_state::add(const fs::path& target, const final_tables& last) const {
  hdf5::file file = hdf5::file::reopen(target);
  {
    hdf5::group root = file.root();
    hdf5::group contenders = root.open("contenders");
    for (std::size_t i = 0; i < last.contenders.size(); ++i) {
      hdf5::group contender = contenders.open(run.contenders[i].name);
      for (const auto& [name, t] : last.contenders[i]) {
        hdf5::write_table(contender, name, t);
      }
    }
    write_last_tables(root, last);
  }
  file.close();
}

void part_stream::append(const table& rows) {
  std::size_t all = rows.rows();
  for (std::size_t first = 0; first < all;) {
    std::size_t count = std::min(all - first, part_rows - state_->buffer.rows());
    state_->buffer.append(rows, first, count);
    first += count;
    commit();
  }
}

table& part_stream::rows() {
  return state_->buffer;
}

void part_stream::commit() {
  if (state_->buffer.rows() >= part_rows) {
    state_->write_part();
  }
}

void part_stream::flush() {
  if (state_->buffer.rows() > 0) {
    state_->write_part();
  }
}

void contender_writer::watch(const std::string& name, std::function<void(const table& rows)> take) {
  state_->watchers[index_][name] = std::move(take);
}

part_stream contender_writer::open(const std::string& name, const table& columns) {
  REFRAIN_ASSERT(is_snake_case(name) && name != "parameters");
  REFRAIN_ASSERT(!columns.columns.empty() && columns.rows() == 0);
  auto& streams = state_->streams[index_];
  REFRAIN_ASSERT(std::ranges::none_of(streams, [&](auto& s) { return s->next.table == name; }));
  stream_state& stream = *streams.emplace_back(std::make_unique<stream_state>());
  stream.folder = state_->folder;
  stream.next.contender = index_;
  stream.next.table = name;
  stream.buffer = columns.like();
  auto& watchers = state_->watchers[index_];
  if (auto found = watchers.find(name); found != watchers.end()) {
    stream.watcher = found->second;
  }
  if (packed_chunks::can_pack(columns)) {
    stream.chunks.emplace(state_->folder / fmt::format("{:04}.{}", index_, name), columns);
  }
  // An empty first part tells a reader of an unfinished run which columns there will be.
  stream.write_part();
  return part_stream{stream};
}

void contender_writer::write(const std::string& name, const table& rows) {
  part_stream stream = open(name, rows.like());
  stream.append(rows);
  stream.flush();
}

void contender_writer::close() {
  state_->flush(index_);
}

results_writer::results_writer(fs::path path, run_description run)
    : state_{std::make_unique<writer_state>()} {
  check_names(run);
  state_->streams.resize(run.contenders.size());
  state_->watchers.resize(run.contenders.size());
  state_->folder = parts_folder(path);
  make_parts_folder(path, state_->folder);
  state_->lock = lock_parts(path, state_->folder);
  empty_parts(state_->folder);
  std::error_code ignored;
  fs::remove(temporary_name(path), ignored);
  try {
    write_image(state_->folder / "run.h5",
                [&](hdf5::group& root) { write_description(root, run); });
  } catch (...) {
    fs::remove_all(state_->folder, ignored);  // holds the lock alone
    throw;
  }
  state_->path = std::move(path);
  state_->run = std::move(run);
}

results_writer::~results_writer() {
  if (state_->finished) {
    return;
  }
  try {
    for (std::size_t i = 0; i < state_->streams.size(); ++i) {
      for (const auto& stream : state_->streams[i]) {
        stream->watcher = nullptr;  // who watched may be gone
      }
      state_->flush(i);
    }
  } catch (const std::exception&) {
    // The run has already failed for a reason that is being reported.
  }
}

contender_writer results_writer::contender(std::size_t index) {
  REFRAIN_ASSERT(index < state_->streams.size());
  return {*state_, index};
}

void results_writer::finish(const final_tables& last) {
  conclude([&](const results_reader&) { return last; });
}

void results_writer::conclude(const std::function<final_tables(const results_reader&)>& look,
                              const std::function<void()>& when_whole) {
  REFRAIN_ASSERT(!state_->finished);
  for (std::size_t i = 0; i < state_->streams.size(); ++i) {
    state_->flush(i);
  }
  fs::path temporary = temporary_name(state_->path);
  try {
    state_->merge(temporary);
    final_tables last = look(results_reader{temporary});
    REFRAIN_ASSERT(last.contenders.size() <= state_->streams.size());
    state_->add(temporary, last);
    sync_file(temporary);
    if (when_whole) {
      when_whole();
    }
    publish_file(temporary, state_->path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  state_->finished = true;
  empty_parts(state_->folder);
  std::error_code ignored;
  fs::remove_all(state_->folder, ignored);
}

}  // namespace refrain
