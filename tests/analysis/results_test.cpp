// Result files from writer to reader: parts, merging, byte identity, failures.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "analysis/hdf5.hpp"
#include "analysis/results_layout.hpp"
#include "analysis/results_reader.hpp"
#include "analysis/results_writer.hpp"
#include "tests/analysis/fixtures.hpp"
#include "traces/error.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

using results = results_test;

void write_run(const fs::path& path, std::size_t rows, const final_tables& last = {}) {
  results_writer writer{path, two_contenders()};
  for (std::size_t i = 0; i < 2; ++i) {
    part_stream stream = writer.contender(i).open("requests", numbered_rows(0, 0));
    stream.append(numbered_rows(0, rows));
    writer.contender(i).close();
  }
  writer.finish(last);
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(results, survive_the_merge_at_every_part_boundary) {
  for (std::size_t rows : {0u, 1u, 1023u, 1024u, 1025u, 5000u, 40000u}) {
    fs::path path = in_folder(std::to_string(rows) + ".h5");
    write_run(path, rows);
    results_reader reader{path};
    expect_numbered(reader.read(0, "requests"), rows);
    expect_numbered(reader.read(1, "requests"), rows);
    EXPECT_FALSE(fs::exists(parts_folder(path)));
    EXPECT_FALSE(fs::exists(path.string() + ".tmp"));
  }
}

TEST_F(results, are_handed_over_piece_by_piece_from_a_file_and_from_parts) {
  constexpr std::size_t rows = 150'000;
  constexpr std::string_view names[] = {"half_s", "no such column", "row"};
  for (bool finished : {false, true}) {
    fs::path path = in_folder(finished ? "whole.h5" : "parts.h5");
    results_writer writer{path, two_contenders()};
    writer.contender(0).write("requests", numbered_rows(0, rows));
    writer.contender(1).write("requests", numbered_rows(0, 0));
    if (finished) {
      writer.finish({});
    }
    results_reader reader{path};
    std::size_t next = 0;
    std::size_t largest = 0;
    reader.visit(0, "requests", names, [&](const table& piece) {
      ASSERT_EQ(piece.columns.size(), 2u);
      largest = std::max(largest, piece.rows());
      for (std::int64_t row : piece.at("row").integers()) {
        ASSERT_EQ(row, static_cast<std::int64_t>(next++));
      }
    });
    EXPECT_EQ(next, rows);
    EXPECT_LE(largest, 65'536u);
    std::size_t calls = 0;
    reader.visit(1, "requests", names, [&](const table& piece) {
      ++calls;
      EXPECT_EQ(piece.rows(), 0u);
      EXPECT_EQ(piece.columns.size(), 2u);
    });
    EXPECT_EQ(calls, 1u);
  }
}

TEST_F(results, say_which_rows_are_missing) {
  fs::path path = in_folder("a.h5");
  {
    results_writer writer{path, two_contenders()};
    writer.contender(0).write("requests", numbered_rows(0, 5000));
    writer.contender(1).write("requests", numbered_rows(0, 5000));
  }
  EXPECT_TRUE(results_reader{path}.warnings().empty());
  for (const char* number : {"2", "3"}) {
    fs::remove(parts_folder(path) / (std::string{"0000.requests.00000"} + number + ".h5"));
  }
  results_reader reader{path};
  expect_numbered(reader.read(1, "requests"), 5000);
  EXPECT_EQ(reader.read(0, "requests").rows(), 5000u - 2 * 1024);
  EXPECT_THAT(reader.warnings(),
              testing::ElementsAre("zebra: rows are missing: 2 of the first 6 parts of table "
                                   "requests are gone"));
}

TEST_F(results, are_the_same_however_the_rows_were_appended) {
  write_run(in_folder("whole.h5"), 20000);
  results_writer writer{in_folder("pieces.h5"), two_contenders()};
  for (std::size_t i = 0; i < 2; ++i) {
    part_stream stream = writer.contender(i).open("requests", numbered_rows(0, 0));
    for (std::size_t row = 0; row < 20000; ++row) {
      stream.rows().append(numbered_rows(row, 1));
      stream.commit();
      if (row % 701 == 0) {
        stream.flush();
      }
    }
  }
  writer.finish({});
  EXPECT_EQ(bytes_of(in_folder("whole.h5")), bytes_of(in_folder("pieces.h5")));
}

TEST_F(results, of_threads_that_race_are_equal_byte_for_byte) {
  auto write = [&](const fs::path& path) {
    results_writer writer{path, two_contenders()};
    auto work = [&](std::size_t i) {
      contender_writer contender = writer.contender(i);
      part_stream stream = contender.open("requests", numbered_rows(0, 0));
      for (std::size_t row = 0; row < 5000; row += 100) {
        stream.append(numbered_rows(row, 100));
      }
      contender.close();
    };
    std::thread first{work, 0};
    std::thread second{work, 1};
    first.join();
    second.join();
    writer.finish({numbered_rows(0, 3), {}, {"a warning"}, {{{"totals", numbered_rows(0, 2)}}}});
  };
  write(in_folder("a.h5"));
  write(in_folder("b.h5"));
  EXPECT_GT(bytes_of(in_folder("a.h5")).size(), 1000u);
  EXPECT_EQ(bytes_of(in_folder("a.h5")), bytes_of(in_folder("b.h5")));
}

TEST_F(results, hold_no_trace_of_the_place_of_writing) {
  write_run(in_folder("a.h5"), 10);
  std::string bytes = bytes_of(in_folder("a.h5"));
  EXPECT_EQ(bytes.find(folder_.string()), std::string::npos);
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  if (std::string_view{host}.size() > 5) {  // a shorter name may stand there by chance
    EXPECT_EQ(bytes.find(host), std::string::npos);
  }
}

TEST_F(results, hold_no_time_of_writing_in_any_object) {
  write_run(in_folder("a.h5"), 10, {numbered_rows(0, 3), {}, {"a warning"}, {}});
  hdf5::file file = hdf5::file::open(in_folder("a.h5"));
  hdf5::group root = file.root();
  int objects = 0;
  auto visit = [](hid_t, const char* name, const H5O_info_t* info, void* data) -> herr_t {
    EXPECT_EQ(info->atime, 0) << name;
    EXPECT_EQ(info->mtime, 0) << name;
    EXPECT_EQ(info->ctime, 0) << name;
    EXPECT_EQ(info->btime, 0) << name;
    ++*static_cast<int*>(data);
    return 0;
  };
  H5Ovisit2(root.id(), H5_INDEX_NAME, H5_ITER_INC, visit, &objects, H5O_INFO_TIME);
  EXPECT_GT(objects, 15);
}

TEST_F(results, give_back_the_description_and_the_last_tables) {
  fs::path path = in_folder("a.h5");
  write_run(path, 1,
            {numbered_rows(0, 3),
             numbered_rows(0, 0),
             {"one", "two"},
             {{{"totals", numbered_rows(0, 2)}}}});
  results_reader reader{path};
  EXPECT_TRUE(reader.complete());
  run_description expected = two_contenders();
  EXPECT_EQ(reader.run().name, expected.name);
  EXPECT_EQ(reader.run().scenario, expected.scenario);
  EXPECT_EQ(reader.run().seed, expected.seed);
  EXPECT_EQ(reader.run().version, expected.version);
  EXPECT_EQ(reader.run().commit, expected.commit);
  EXPECT_EQ(reader.run().trace_sha256, expected.trace_sha256);
  EXPECT_EQ(reader.run().parameters, expected.parameters);
  ASSERT_EQ(reader.run().contenders.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reader.run().contenders[i].name, expected.contenders[i].name);
    EXPECT_EQ(reader.run().contenders[i].parameters, expected.contenders[i].parameters);
  }
  expect_numbered(reader.comparison(), 3);
  expect_numbered(reader.bounds(), 0);
  EXPECT_EQ(reader.warnings(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(reader.tables(0), (std::vector<std::string>{"requests", "totals"}));
  EXPECT_EQ(reader.tables(1), (std::vector<std::string>{"requests"}));
  expect_numbered(reader.read(0, "totals"), 2);
  EXPECT_EQ(reader.read_column(0, "totals", "half_s").reals(), (std::vector<double>{0, 0.5}));
  EXPECT_THROW(reader.read_column(0, "totals", "third_s"), run_error);
  EXPECT_THROW(reader.read(0, "tiers"), run_error);
}

TEST_F(results, of_an_unfinished_run_are_its_closed_parts) {
  fs::path path = in_folder("a.h5");
  results_writer writer{path, two_contenders()};
  part_stream stream = writer.contender(1).open("requests", numbered_rows(0, 0));
  expect_numbered(results_reader{path}.read(1, "requests"), 0);
  stream.append(numbered_rows(0, 2500));
  std::ofstream{parts_folder(path) / "0001.requests.000003.h5.tmp"} << "half a file";
  results_reader reader{path};
  EXPECT_FALSE(reader.complete());
  EXPECT_TRUE(reader.tables(0).empty());
  expect_numbered(reader.read(1, "requests"), 2048);
  EXPECT_EQ(reader.read_column(1, "requests", "row").size(), 2048u);
  EXPECT_TRUE(reader.comparison().columns.empty());
  expect_numbered(results_reader{parts_folder(path)}.read(1, "requests"), 2048);
}

TEST_F(results, of_a_run_that_ends_early_keep_every_row) {
  fs::path path = in_folder("a.h5");
  {
    results_writer writer{path, two_contenders()};
    writer.contender(0).open("requests", numbered_rows(0, 0)).append(numbered_rows(0, 1500));
  }
  EXPECT_FALSE(fs::exists(path));
  expect_numbered(results_reader{path}.read(0, "requests"), 1500);
}

/// Appends row after row, telling `progress` how many are appended, until it is killed.
[[noreturn]] void append_forever(const fs::path& path, int progress) {
  results_writer writer{path, two_contenders()};
  part_stream stream = writer.contender(0).open("requests", numbered_rows(0, 0));
  for (std::uint32_t rows = 0;;) {
    stream.append(numbered_rows(rows, 1));
    ++rows;
    if (::write(progress, &rows, sizeof rows) != sizeof rows) {
      std::_Exit(1);
    }
  }
}

TEST_F(results, of_a_killed_run_miss_at_most_the_last_1023_rows) {
  for (std::uint32_t kill_at : {3000u, 1u, 1024u, 7777u, 5120u, 12345u}) {
    fs::path path = in_folder("killed.h5");
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) {
      append_forever(path, ends[1]);
    }
    ::close(ends[1]);
    std::uint32_t appended = 0;
    while (appended < kill_at && ::read(ends[0], &appended, sizeof appended) == sizeof appended) {
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    while (::read(ends[0], &appended, sizeof appended) == sizeof appended) {
    }
    ::close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_GE(appended, kill_at);
    results_reader reader{path};
    EXPECT_FALSE(reader.complete());
    table rows = reader.read(0, "requests");
    EXPECT_GE(rows.rows() + 1023, appended);
    expect_numbered(rows, rows.rows());
  }
}

TEST_F(results, replace_what_a_crashed_run_of_the_same_name_left) {
  fs::path path = in_folder("a.h5");
  {
    results_writer writer{path, two_contenders()};
    writer.contender(0).open("tiers", numbered_rows(0, 0)).append(numbered_rows(0, 1500));
  }
  std::ofstream{path.string() + ".tmp"} << "half a file";
  write_run(path, 7);
  results_reader reader{path};
  EXPECT_FALSE(reader.has(0, "tiers"));
  expect_numbered(reader.read(0, "requests"), 7);
}

TEST_F(results, of_one_name_are_written_by_one_run_at_a_time) {
  auto first = std::make_unique<results_writer>(in_folder("run.h5"), two_contenders());
  EXPECT_THROW((results_writer{in_folder("run.h5"), two_contenders()}), input_error);
  first.reset();
  EXPECT_NO_THROW((results_writer{in_folder("run.h5"), two_contenders()}));
}

TEST_F(results, of_an_earlier_run_stay_until_the_new_ones_are_whole) {
  fs::path path = in_folder("a.h5");
  write_run(path, 7);
  std::string before = bytes_of(path);
  {
    results_writer writer{path, two_contenders()};
    writer.contender(0).open("requests", numbered_rows(0, 0)).append(numbered_rows(0, 1500));
    EXPECT_EQ(bytes_of(path), before);
  }
  EXPECT_EQ(bytes_of(path), before);
  write_run(path, 8);
  expect_numbered(results_reader{path}.read(0, "requests"), 8);
}

TEST_F(results, are_not_written_over_somebody_elses_folder) {
  fs::path path = in_folder("a.h5");
  fs::create_directory(parts_folder(path));
  std::ofstream{parts_folder(path) / "thesis.tex"} << "years of work";
  EXPECT_THAT(message_of([&] { results_writer(path, two_contenders()); }),
              testing::HasSubstr("thesis.tex"));
  EXPECT_EQ(bytes_of(parts_folder(path) / "thesis.tex"), "years of work");
  fs::create_directory(in_folder("b.h5"));
  EXPECT_THROW(results_writer(in_folder("b.h5"), two_contenders()), run_error);
}

TEST_F(results, name_the_file_when_the_folder_is_missing) {
  fs::path path = in_folder("missing/a.h5");
  std::string message = message_of([&] { results_writer(path, two_contenders()); });
  EXPECT_THAT(message, testing::HasSubstr("missing/a.h5"));
  EXPECT_THAT(message, testing::HasSubstr("No such file or directory"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

/// Runs `action` in a child prepared by `prepare`; expects run_error naming `name` and `reason`.
void expect_failure_in_child(const auto& prepare, const std::string& name,
                             const std::string& reason, const auto& action) {
  pid_t child = ::fork();
  if (child == 0) {
    prepare();
    std::string what = message_of(action);
    bool good = what.find(name) != what.npos && what.find(reason) != what.npos;
    std::exit(good ? 0 : 3);  // not _Exit: HDF5's own farewell must not crash either
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(results, name_the_file_when_the_folder_is_closed) {
  fs::create_directory(in_folder("closed"));
  ::chmod(folder_.c_str(), 0755);
  ::chmod(in_folder("closed").c_str(), 0555);
  constexpr uid_t nobody = 65534;
  auto lose_rights = [] {
    if (::geteuid() == 0 && ::setuid(nobody) != 0) {
      std::_Exit(5);
    }
  };
  expect_failure_in_child(lose_rights, "closed/a.h5", "Permission denied",
                          [&] { results_writer(in_folder("closed/a.h5"), two_contenders()); });
  EXPECT_TRUE(fs::is_empty(in_folder("closed")));
}

/// Files cannot grow beyond `limit` bytes, as on a full disk.
auto full_disk(rlim_t limit) {
  return [limit] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit full{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &full);
  };
}

TEST_F(results, that_find_no_room_fail_with_the_files_name) {
  fs::path path = in_folder("a.h5");
  expect_failure_in_child(full_disk(1000), "a.h5.parts", "File too large",
                          [&] { write_run(path, 5000); });
  EXPECT_FALSE(fs::exists(path));
  EXPECT_THROW(results_reader{path}, input_error);
}

TEST_F(results, that_find_no_room_in_the_merge_stay_readable_as_parts) {
  fs::path path = in_folder("a.h5");
  expect_failure_in_child(full_disk(30000), "a.h5.tmp", "File too large",
                          [&] { write_run(path, 60000); });
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(fs::exists(path.string() + ".tmp"));
  results_reader reader{path};
  EXPECT_FALSE(reader.complete());
  expect_numbered(reader.read(1, "requests"), 60000);
}

TEST_F(results, refuse_files_that_are_not_theirs) {
  EXPECT_THAT(message_of([&] { results_reader{in_folder("none.h5")}; }),
              testing::HasSubstr("none.h5"));
  std::ofstream{in_folder("text.h5")} << "not HDF5";
  EXPECT_THROW(results_reader{in_folder("text.h5")}, input_error);
  hdf5::file::create(in_folder("empty.h5")).close();
  EXPECT_THROW(results_reader{in_folder("empty.h5")}, input_error);
  write_run(in_folder("whole.h5"), 5000);
  std::string bytes = bytes_of(in_folder("whole.h5"));
  std::ofstream{in_folder("cut.h5"), std::ios::binary} << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW(results_reader{in_folder("cut.h5")}, input_error);
  EXPECT_THROW(results_reader{folder_}, input_error);
}

TEST_F(results, refuse_a_newer_schema) {
  fs::path path = in_folder("newer.h5");
  hdf5::file file = hdf5::file::create(path);
  {
    hdf5::group run = file.root().create("run");
    run.set_text("format", "refrain results");
    run.set_integer("schema_version", schema_version + 1);
  }
  file.close();
  EXPECT_THAT(message_of([&] { results_reader{path}; }), testing::HasSubstr("schema version 2"));
  EXPECT_THROW(results_reader{path}, input_error);
}

TEST_F(results, refuse_contender_names_that_no_file_can_hold) {
  for (const char* name : {"", ".", "a/b", "zebra"}) {
    run_description run = two_contenders();
    run.contenders[1].name = name;
    EXPECT_THROW(results_writer(in_folder("a.h5"), run), input_error) << name;
  }
}

TEST_F(results, open_in_python) {
  if (std::system("python3 -c 'import h5py' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3 has no h5py";
  }
  write_run(in_folder("a.h5"), 1500);
  std::string command =
      "python3 -c 'import h5py,sys; f = h5py.File(sys.argv[1]); "
      "g = f[\"contenders/zebra/requests\"]; assert g[\"row\"][1499] == 1499; "
      "assert g[\"name\"].asstr()[3] == \"row 3\"; "
      "assert g[\"row\"].attrs[\"unit\"] == \"requests\"; "
      "assert f[\"run\"].attrs[\"name\"] == \"A scenario\"' " +
      in_folder("a.h5").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(part_names, are_read_back_and_told_from_others) {
  part_name name{3, "requests", 12};
  EXPECT_EQ(name.text(), "0003.requests.000012.h5");
  EXPECT_EQ(part_name::parse(name.text()), name);
  part_name large{12345, "tiers", 1234567};
  EXPECT_EQ(part_name::parse(large.text()), large);
  for (const char* other : {"run.h5", "0003.requests.000012.h5.tmp", "3.requests.000012.h5",
                            "0003.requests.h5", "0003..h5", "", "x.requests.000012.h5"}) {
    EXPECT_EQ(part_name::parse(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace refrain
