// libCacheSim's oracleGeneral records (github.com/1a1a11a/libCacheSim): packed, little endian, 24
// bytes each: u32 time in seconds, u64 object id, u32 object size, i64 position of the next access.
// Each record is an access of one object: no tokens, no prefix chain. The next access is not used;
// it is worked out where a policy needs it.
#include <bit>
#include <cstring>
#include <memory>

#include "traces/input_file.hpp"
#include "traces/rows.hpp"
#include "traces/source.hpp"

namespace refrain {

namespace {

static_assert(std::endian::native == std::endian::little, "records are read as they lie");

constexpr std::size_t record_bytes = 24;
constexpr std::size_t records_bytes = record_bytes << 14;

template <class Integer>
Integer load(const char* from) {
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

class oracle_general final : public source {
 public:
  explicit oracle_general(const source_options& options)
      : file_{options.path},
        ledger_{options},
        records_{std::make_unique_for_overwrite<char[]>(records_bytes)} {
    info_.format = "oracle_general";
    info_.id_scope = "trace";
    info_.has_lengths = false;
    info_.has_sizes = true;
  }

  const trace_info& info() const override { return info_; }
  const row_counts& counts() const override { return ledger_.counts(); }

  bool next(request& out) override {
    clear_request(out);
    while (at_ != end_ || refill()) {
      const char* record = records_.get() + at_;
      at_ += record_bytes;
      auto seconds = load<std::uint32_t>(record);
      auto size = load<std::uint32_t>(record + 12);
      if (size == 0 || seconds < seconds_) [[unlikely]] {
        drop(seconds, size);
        continue;
      }
      if (ledger_.counts().rows_kept == 0) {
        start_ = seconds;
      }
      seconds_ = seconds;
      out.arrival = std::chrono::seconds{seconds - start_};
      out.object_size = size;
      out.blocks.emplace_back(load<std::uint64_t>(record + 4));
      ledger_.keep(out);
      out.session = session_id{out.id.get()};
      return true;
    }
    ledger_.finish();
    return false;
  }

 private:
  bool refill() {
    std::size_t size = file_.read(records_.get(), records_bytes);
    if (size % record_bytes != 0) {
      throw input_error{file_.path(),
                        "its size is not a multiple of 24 bytes: " +
                            std::to_string(size % record_bytes) + " bytes follow record " +
                            std::to_string(ledger_.counts().rows_read + size / record_bytes)};
    }
    at_ = 0;
    end_ = size;
    return size > 0;
  }

  /// Names the record by its number, from 1, as text formats name lines.
  void drop(std::uint32_t seconds, std::uint32_t size) {
    auto where = file_.path() + ":" + std::to_string(ledger_.counts().rows_read + 1);
    ledger_.drop(where, size == 0 ? bad_row{"object size is 0"}
                                  : bad_row{"time is lower than the previous record's",
                                            std::to_string(seconds) + " s after " +
                                                std::to_string(seconds_) + " s"});
  }

  trace_info info_;
  input_file file_;
  row_ledger ledger_;
  std::unique_ptr<char[]> records_;
  std::size_t at_ = 0, end_ = 0;
  std::uint32_t start_ = 0, seconds_ = 0;
};

const register_trace_format registration{
    {.name = "oracle_general",
     .summary = "libCacheSim's 24-byte records: time, object id, size; ids hold in the whole "
                "trace; no tokens, no chains",
     .open = [](const source_options& options) -> std::unique_ptr<source> {
       return std::make_unique<oracle_general>(options);
     }}};

}  // namespace

}  // namespace refrain
