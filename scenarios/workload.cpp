// The trace file is read once by scan_trace, which stops at the first bad row and knows the hash,
// and once more as the run will see it.
#include "scenarios/workload.hpp"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policies/cache.hpp"
#include "scenarios/generator_keys.hpp"
#include "scenarios/knowledge.hpp"
#include "scenarios/retrieval.hpp"
#include "scenarios/variants.hpp"
#include "traces/adapt.hpp"
#include "traces/quantity.hpp"
#include "traces/scan.hpp"
#include "traces/sha256.hpp"

namespace refrain {

namespace {

constexpr std::string_view generator_format = "generator";

void check_format(const scenario_settings& settings, const std::string& file) {
  const std::string& format = settings.required("workload.format", file).text;
  std::vector<std::string_view> names{generator_format, questions_format, variants_format};
  for (const auto& [name, _] : trace_formats()) {
    names.push_back(name);
  }
  if (std::ranges::find(names, format) == names.end()) {
    throw input_error{settings.where("workload.format"), unknown_name("format", format, names)};
  }
}

/// A key that this format does not read is refused where somebody wrote it.
void refuse_unread(const scenario_settings& settings, const std::string& format) {
  for (const setting_rule& rule : scenario_schema()) {
    bool of_traces = rule.key == "workload.path" || rule.key == "workload.block_tokens" ||
                     rule.key == "workload.bad_rows";
    bool unread =
        !is_read_by_format(rule.key, format) || (of_traces && !trace_formats().contains(format));
    if (unread && settings.has(rule.key) && !settings.at(rule.key).where.empty()) {
      throw input_error{settings.where(rule.key),
                        fmt::format("means nothing with workload.format \"{}\"",
                                    settings.text("workload.format"))};
    }
  }
}

adaptation adaptation_of(const scenario_settings& settings) {
  return {.limit = static_cast<std::uint64_t>(settings.integer("workload.limit")),
          .output_tokens = token_count{settings.integer("workload.output_tokens")},
          .spread = settings.time("workload.spread"),
          .speed = settings.number("workload.speed"),
          .seed = static_cast<std::uint64_t>(settings.integer("seed")),
          .layout = settings.has("workload.layout") ? parse_layout(settings.text("workload.layout"))
                                                    : prompt_order{}};
}

void warn_of_dropped(const row_counts& counts, std::vector<std::string>& warnings) {
  if (counts.rows_read == counts.rows_kept) {
    return;
  }
  std::string reasons;
  for (const auto& [reason, count] : counts.rows_dropped) {
    reasons += fmt::format("{}{} times {}", reasons.empty() ? "" : ", ", count, reason);
  }
  warnings.push_back(fmt::format("{} of {} rows of the trace were dropped: {}",
                                 counts.rows_read - counts.rows_kept, counts.rows_read, reasons));
}

source_opener open_file(const scenario_settings& settings, const std::string& file,
                        scanned_workload& workload) {
  const std::string& format = settings.text("workload.format");
  source_options options{.path = settings.required("workload.path", file).path,
                         .block_tokens = token_count{settings.integer("workload.block_tokens")},
                         .drop_bad_rows = settings.text("workload.bad_rows") == "drop"};
  trace_summary summary = scan_trace(format, options);
  if (!summary.info.has_lengths) {
    throw input_error{settings.where("workload.format"),
                      fmt::format("{} gives no token lengths, so it cannot be run; "
                                  "use refrain replay",
                                  format)};
  }
  workload.sha256 = summary.sha256;
  warn_of_dropped(summary.counts, workload.warnings);
  return [format, options] { return open_trace(format, options); };
}

}  // namespace

bool is_read_by_format(std::string_view key, std::string_view format) {
  bool asks = format == questions_format, plants = format == variants_format;
  return key.starts_with(generator_table)         ? format == generator_format
         : key.starts_with("workload.questions.") ? asks
         : key.starts_with("workload.variants.")  ? plants
         : key == "workload.tokenizer"            ? asks || plants
         : key.starts_with("corpus.")             ? asks || plants
         : key.starts_with("knowledge.")          ? asks
                                                  : true;
}

scanned_workload scan_workload(const scenario_settings& settings, const std::string& file) {
  check_format(settings, file);
  const std::string& format = settings.text("workload.format");
  bool is_generator = format == generator_format;
  refuse_unread(settings, format);
  scanned_workload workload;
  source_opener open;
  if (format == questions_format) {
    workload.updates = load_updates(settings, file);
    workload.documents = load_corpus(settings, file, workload.updates);
    workload.sha256 = sha256_of_corpus(*workload.documents);
    if (workload.updates.history != nullptr) {
      workload.sha256 = sha256_of_text(workload.sha256 + sha256_of_updates(workload.updates));
    }
    open = open_questions(settings, workload.documents);
  } else if (format == variants_format) {
    corpus texts = read_scenario_corpus(settings, file);
    texts.words = load_words(settings);
    workload.sha256 = sha256_of_corpus(texts);
    open = open_variants(settings, texts);
  } else {
    open = is_generator ? open_generator(settings) : open_file(settings, file, workload);
  }
  adaptation changes;
  try {
    changes = adaptation_of(settings);
  } catch (const input_error& error) {
    throw settings.located(error);
  }
  workload.open = [open, changes] { return adapt(open, changes); };
  try {
    workload.info = workload.open()->info();
  } catch (const input_error& error) {
    throw settings.located(is_generator ? of_generator(error) : error);
  }
  workload.info.has_versions = workload.info.has_versions || workload.documents != nullptr;
  if (!changes.layout.empty() && !workload.info.has_content) {
    throw input_error{settings.where("workload.layout"),
                      "orders the parts of prompts, and this trace does not tell them"};
  }
  return workload;
}

namespace {

/// Counts what an endless cache would find, as long as the different keys fit in memory. They are
/// in many small sets: a set that grows needs three times its room for a while.
class endless_cache {
 public:
  /// The leading blocks of a prompt that were there before; all of its keys are there afterwards.
  std::size_t serve(std::span<const block_key> keys, std::size_t looked_up) {
    std::size_t hits = 0;
    while (hits < looked_up && set_of(keys[hits]).contains(keys[hits])) {
      ++hits;
    }
    for (block_key key : keys.subspan(hits)) {
      size_ += set_of(key).insert(key).second ? 1 : 0;
    }
    return hits;
  }
  std::size_t size() const { return size_; }

 private:
  using set = absl::flat_hash_set<block_key, key_hash>;

  set& set_of(block_key key) { return sets_[key_hash{}(key) >> 58]; }

  std::array<set, 64> sets_;
  std::size_t size_ = 0;
};

/// How a row's prompt is cut.
struct row_cut {
  std::vector<block_key> keys;
  std::size_t looked_up = 0;  // of the keys
  prompt_layout layout;       // under a scheme with chunk kinds

  void cut(const request& row, const key_scheme& scheme) {
    if (scheme.chunk_kinds != 0 && row.blocks.empty()) {
      chunk_keys(row, scheme, keys, layout);
      looked_up = layout.prompt_keys;
    } else {
      looked_up = block_keys(row, scheme, keys);
    }
  }
  std::int64_t blocks(const request& row, const key_scheme& scheme) const {
    std::int64_t kept = row.input_tokens + std::max<std::int64_t>(row.output_tokens, 1) - 1;
    return scheme.chunk_kinds != 0 && row.blocks.empty()
               ? layout.blocks_for(token_count{kept})
               : (kept + scheme.block_tokens - 1) / scheme.block_tokens;
  }
};

}  // namespace

workload_survey survey_workload(source& rows, const key_scheme& scheme, bool with_future) {
  workload_survey result;
  auto seen = std::make_unique<endless_cache>();
  auto ahead = with_future ? std::make_shared<future>() : nullptr;
  row_cut now;
  request row;
  while (rows.next(row)) {
    if (result.counted || ahead != nullptr || scheme.chunk_kinds != 0) {
      now.cut(row, scheme);
    }
    std::int64_t filled = now.blocks(row, scheme);
    std::uint8_t chunk_kinds =
        scheme.chunk_kinds != 0 ? scheme.chunk_kinds : kind_bit(segment_kind::document);
    result.chunks += static_cast<std::uint64_t>(
        std::ranges::count_if(row.segments, [chunk_kinds](const segment& piece) {
          return (chunk_kinds & kind_bit(piece.kind)) != 0 && piece.tokens > 0;
        }));
    result.longest_blocks = std::max(result.longest_blocks, filled);
    ++result.requests;
    result.sessions = std::max(result.sessions, row.session.get() + 1);
    result.input_tokens += row.input_tokens;
    if (!result.counted && ahead == nullptr) {
      result.keys += std::max(static_cast<std::uint64_t>(filled), row.blocks.size());
      result.named_blocks += std::max(static_cast<std::uint64_t>(filled), row.blocks.size());
      continue;
    }
    result.keys += now.keys.size();
    result.named_blocks += now.keys.size();
    if (result.counted) {
      std::size_t hits = seen->serve(now.keys, now.looked_up);
      result.blocks += now.looked_up;
      result.hit_blocks += hits;
      result.hit_tokens += std::min<std::int64_t>(
          static_cast<std::int64_t>(hits) * scheme.block_tokens, row.input_tokens - 1);
      if (seen->size() > survey_keys_max) {
        result.counted = false;
        seen.reset();
      }
    }
    if (ahead != nullptr) {
      now.keys.resize(now.looked_up);
      ahead->add(row.id, now.keys);
    }
  }
  if (result.counted) {
    result.keys = seen->size();
  }
  result.ahead = std::move(ahead);
  return result;
}

}  // namespace refrain
