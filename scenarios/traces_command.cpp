// `refrain traces`: what a trace file holds and whether every row of it is good; writes it again in
// our own format, or as a scenario of the generator that resembles it.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "scenarios/arguments.hpp"
#include "scenarios/commands.hpp"
#include "scenarios/fitted_scenario.hpp"
#include "scenarios/json.hpp"
#include "traces/describe.hpp"
#include "traces/new_file.hpp"
#include "traces/quantity.hpp"
#include "traces/scan.hpp"
#include "traces/write_trace.hpp"

namespace refrain {

namespace {

constexpr std::size_t bad_rows_shown = 20;

/// A trace as the command line names it, and what was found in it.
struct examined_trace {
  std::string format;
  std::string path;
  std::string sha256;
  trace_description found;
  std::vector<std::string> bad_rows;
  std::string failure;  ///< why it could not be read to its end; no row was good, say
};

std::pair<std::string, std::string> parse_trace(const std::string& text) {
  std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw input_error{text, "expected FORMAT:PATH"};
  }
  std::string format = text.substr(0, colon);
  std::vector<std::string_view> names;
  for (const auto& [name, _] : trace_formats()) {
    names.push_back(name);
  }
  if (!trace_formats().contains(format)) {
    throw input_error{text, unknown_name("trace format", format, names)};
  }
  return {format, text.substr(colon + 1)};
}

examined_trace examine(const std::string& text, token_count block_tokens) {
  examined_trace trace;
  std::tie(trace.format, trace.path) = parse_trace(text);
  source_options options{.path = trace.path, .drop_bad_rows = true};
  options.on_bad_row = [&](const input_error& error) { trace.bad_rows.emplace_back(error.what()); };
  auto rows = open_trace(trace.format, options);
  try {
    describe_trace(*rows, trace.found,
                   block_tokens > 0 ? block_tokens : standard_block_tokens_of_segments);
  } catch (const input_error& error) {
    if (trace.bad_rows.empty()) {
      throw;
    }
    trace.failure = error.what();
  }
  trace.sha256 = sha256_of_trace(trace.format, trace.path);
  return trace;
}

/// What this trace says nothing about, as words.
std::vector<std::string> missing_of(const trace_info& info) {
  std::vector<std::string> missing;
  std::pair<bool, const char*> all[] = {{info.has_lengths, "token lengths"},
                                        {info.has_chains, "prefix block ids"},
                                        {info.has_content, "content outside the prefix"},
                                        {info.has_sessions, "sessions"},
                                        {info.has_measured, "measured times"},
                                        {info.has_sizes, "object sizes"},
                                        {info.has_hints, "retention hints"},
                                        {info.has_steps, "steps of workflows"}};
  for (auto [has, name] : all) {
    if (!has) {
      missing.emplace_back(name);
    }
  }
  return missing;
}

double share(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return share(static_cast<double>(part), static_cast<double>(whole));
}

const std::vector<double>& shown_shares() {
  static const std::vector<double> shares{0, 0.5, 0.9, 0.99, 1};
  return shares;
}

/// Quantiles of values that are `unit` times the counted ones.
json quantiles(const value_counts& values, double unit = 1) {
  std::vector<std::int64_t> at = values.at(shown_shares());
  constexpr const char* names[] = {"min", "p50", "p90", "p99", "max"};
  json document{{"count", values.count()}, {"mean", values.mean() * unit}};
  for (std::size_t i = 0; i < at.size(); ++i) {
    document[names[i]] = unit == 1 ? json(at[i]) : json(static_cast<double>(at[i]) * unit);
  }
  return document;
}

double requests_per_second(const trace_description& d) {
  double span = to_seconds(d.last - d.first);
  return share(static_cast<double>(d.requests), span);
}

json endless_document(const endless_counts& e) {
  return {{"block_tokens", e.block_tokens.get()},
          {"accesses", e.accesses},
          {"unique_blocks", e.unique},
          {"single_use_blocks", e.single_use},
          {"most_used_block_accesses", e.most_used},
          {"block_hits", e.block_hits},
          {"block_hit_rate", ratio(e.block_hits, e.accesses)},
          {"prefix_hits", e.prefix_hits},
          {"prefix_hit_rate", ratio(e.prefix_hits, e.accesses)},
          {"input_tokens", e.input_tokens},
          {"hit_tokens", e.hit_tokens},
          {"token_hit_rate",
           share(static_cast<double>(e.hit_tokens), static_cast<double>(e.input_tokens))},
          {"full_block_hit_tokens", e.full_hit_tokens},
          {"full_block_token_hit_rate",
           share(static_cast<double>(e.full_hit_tokens), static_cast<double>(e.input_tokens))},
          {"mean_request_hit_ratio", share(e.ratio_sum, static_cast<double>(e.requests))},
          {"requests_with_a_hit", e.any_hit},
          {"requests_wholly_hit", e.wholly_hit}};
}

json chunk_document(const chunk_counts& c) {
  auto tokens = static_cast<double>(c.tokens);
  return {{"accesses", c.accesses},
          {"unique_chunks", c.unique},
          {"hits", c.hits},
          {"hit_rate", ratio(c.hits, c.accesses)},
          {"prefix_hits", c.prefix_hits},
          {"prefix_hit_rate", ratio(c.prefix_hits, c.accesses)},
          {"tokens", c.tokens},
          {"hit_tokens", c.hit_tokens},
          {"token_hit_rate", share(static_cast<double>(c.hit_tokens), tokens)},
          {"prefix_hit_tokens", c.prefix_hit_tokens},
          {"token_prefix_hit_rate", share(static_cast<double>(c.prefix_hit_tokens), tokens)}};
}

/// Kinds that the trace has, by name.
std::vector<std::pair<std::string, std::size_t>> kinds_of(const chunk_description& chunks) {
  std::vector<std::pair<std::string, std::size_t>> kinds;
  for (std::size_t i = 0; i < segment_kinds; ++i) {
    if (chunks.in_prompt[i].accesses > 0) {
      kinds.emplace_back(segment_kind_name(static_cast<segment_kind>(i)), i);
    }
  }
  return kinds;
}

json chunks_document(const chunk_description& chunks) {
  json document{{"all", chunk_document(chunks.all)}};
  for (const auto& [name, kind] : kinds_of(chunks)) {
    document["kinds"][name] = {{"in_prompts", chunk_document(chunks.in_prompt[kind])},
                               {"alone", chunk_document(chunks.alone[kind])}};
  }
  return document;
}

json object_document(const object_counts& o) {
  return {{"accesses", o.accesses},
          {"objects", o.objects},
          {"single_use_objects", o.single_use},
          {"most_used_object_accesses", o.most_used},
          {"hits", o.hits},
          {"hit_rate", ratio(o.hits, o.accesses)},
          {"size_hit_rate", share(o.hit_size, o.accessed_size)},
          {"unique_size", o.unique_size},
          {"sizes", quantiles(o.sizes)}};
}

json document_of(const examined_trace& trace) {
  const trace_description& d = trace.found;
  json document{{"format", trace.format},      {"path", trace.path},
                {"sha256", trace.sha256},      {"block_tokens", d.info.block_tokens.get()},
                {"id_scope", d.info.id_scope}, {"lacks", missing_of(d.info)}};
  document["rows"] = {{"read", d.counts.rows_read},
                      {"kept", d.counts.rows_kept},
                      {"dropped", json(d.counts.rows_dropped)}};
  document["bad_rows"] = trace.bad_rows;
  document["times"] = {{"first_s", to_seconds(d.first)},
                       {"last_s", to_seconds(d.last)},
                       {"requests_per_s", json_number(requests_per_second(d))},
                       {"distinct", d.distinct_times}};
  if (d.info.has_lengths) {
    document["input_tokens"] = quantiles(d.input);
    document["output_tokens"] = quantiles(d.output);
  }
  if (d.info.has_sessions) {
    document["sessions"] = {{"count", d.sessions},
                            {"turns", quantiles(d.turns)},
                            {"think_time_s", quantiles(d.gaps_ms, 1e-3)}};
  }
  if (d.endless.accesses > 0) {
    document["endless_cache"] = endless_document(d.endless);
  }
  if (d.chunks.all.accesses > 0) {
    document["chunks"] = chunks_document(d.chunks);
  }
  if (d.info.has_sizes) {
    document["objects"] = object_document(d.objects);
  }
  return document;
}

void line(std::string_view name, const std::string& text) {
  std::cout << fmt::format("{:<24} {}\n", name, text);
}

std::string counted(std::uint64_t count) {
  return print_count(static_cast<std::int64_t>(count));
}

void print_quantiles(std::string_view name, const value_counts& values, double unit = 1) {
  std::vector<std::int64_t> at = values.at(shown_shares());
  auto text = [&](std::int64_t value) {
    return unit == 1 ? print_count(value) : print_duration(static_cast<double>(value) * unit);
  };
  line(name, fmt::format("p50 {}, p90 {}, p99 {}, max {}, mean {}", text(at[1]), text(at[2]),
                         text(at[3]), text(at[4]),
                         unit == 1 ? fmt::format("{:.3f}", values.mean())
                                   : print_duration(values.mean() * unit)));
}

void print_rate(std::string_view name, double rate, const std::string& how) {
  line(name, fmt::format("{:.6f}   {}", rate, how));
}

void print_endless(const endless_counts& e) {
  std::cout << "\nEndless cache, one request after the other in trace order, blocks of "
            << e.block_tokens.get() << " tokens\n";
  line("blocks", fmt::format("{} accesses to {} blocks, {} ({:.1f}%) used once, {} of the most "
                             "used",
                             counted(e.accesses), counted(e.unique), counted(e.single_use),
                             100 * ratio(e.single_use, e.unique), counted(e.most_used)));
  print_rate("block hit rate", ratio(e.prefix_hits, e.accesses),
             fmt::format("{} leading blocks", counted(e.prefix_hits)));
  if (e.block_hits != e.prefix_hits) {
    print_rate("anywhere", ratio(e.block_hits, e.accesses),
               fmt::format("{} blocks, wherever they stand", counted(e.block_hits)));
  }
  auto tokens = static_cast<double>(e.input_tokens);
  print_rate(
      "token hit rate", share(static_cast<double>(e.hit_tokens), tokens),
      fmt::format("{} of {} tokens", print_count(e.hit_tokens), print_count(e.input_tokens)));
  print_rate("full blocks only", share(static_cast<double>(e.full_hit_tokens), tokens),
             fmt::format("{} tokens", print_count(e.full_hit_tokens)));
  print_rate("mean over requests", share(e.ratio_sum, static_cast<double>(e.requests)),
             "of the share of leading blocks");
  line("requests",
       fmt::format("{} with any hit, {} wholly hit", counted(e.any_hit), counted(e.wholly_hit)));
}

void print_chunk_rates(std::string_view name, std::uint64_t hits, std::int64_t hit_tokens,
                       const chunk_counts& c) {
  print_rate(name, share(static_cast<double>(hit_tokens), static_cast<double>(c.tokens)),
             fmt::format("{} of {} tokens; {:.6f}, {} of {} chunks", print_count(hit_tokens),
                         print_count(c.tokens), ratio(hits, c.accesses), counted(hits),
                         counted(c.accesses)));
}

void print_chunks(const chunk_description& chunks) {
  std::cout
      << "\nThe same of whole chunks: seen before anywhere, and in an exact prefix of chunks\n";
  line("chunks", fmt::format("{} accesses to {} chunks", counted(chunks.all.accesses),
                             counted(chunks.all.unique)));
  print_chunk_rates("anywhere", chunks.all.hits, chunks.all.hit_tokens, chunks.all);
  print_chunk_rates("exact prefix", chunks.all.prefix_hits, chunks.all.prefix_hit_tokens,
                    chunks.all);
  for (const auto& [name, kind] : kinds_of(chunks)) {
    const chunk_counts& inside = chunks.in_prompt[kind];
    const chunk_counts& alone = chunks.alone[kind];
    line(name,
         fmt::format("{} accesses to {} chunks", counted(inside.accesses), counted(inside.unique)));
    print_chunk_rates("  anywhere", inside.hits, inside.hit_tokens, inside);
    print_chunk_rates("  exact prefix", inside.prefix_hits, inside.prefix_hit_tokens, inside);
    print_chunk_rates("  alone, exact prefix", alone.prefix_hits, alone.prefix_hit_tokens, alone);
  }
}

void print_objects(const object_counts& o) {
  line("objects", fmt::format("{} accesses to {} objects, {} ({:.1f}%) accessed once, {} of the "
                              "most used",
                              counted(o.accesses), counted(o.objects), counted(o.single_use),
                              100 * ratio(o.single_use, o.objects), counted(o.most_used)));
  print_quantiles("size", o.sizes);
  print_rate("endless hit rate", ratio(o.hits, o.accesses),
             fmt::format("{} hits", counted(o.hits)));
  print_rate("by size", share(o.hit_size, o.accessed_size), "of the accessed size");
}

void print_rows(const examined_trace& trace) {
  const row_counts& counts = trace.found.counts;
  line("rows",
       fmt::format("{} read, {} kept, {} dropped", counted(counts.rows_read),
                   counted(counts.rows_kept), counted(counts.rows_read - counts.rows_kept)));
  for (const auto& [reason, count] : counts.rows_dropped) {
    line("", fmt::format("{} times {}", counted(count), reason));
  }
}

void print(const examined_trace& trace) {
  const trace_description& d = trace.found;
  line("format", trace.format);
  line("sha256", trace.sha256);
  line("block ids", d.info.block_tokens > 0
                        ? fmt::format("of {} tokens, same meaning within one {}",
                                      d.info.block_tokens.get(), d.info.id_scope)
                        : std::string{"none"});
  line("says nothing about", fmt::format("{}", fmt::join(missing_of(d.info), ", ")));
  print_rows(trace);
  if (d.requests > 0) {
    line("time", fmt::format("{:.3f} s to {:.3f} s, {:.6g} requests/s, {} distinct times",
                             to_seconds(d.first), to_seconds(d.last), requests_per_second(d),
                             counted(d.distinct_times)));
    if (d.info.has_lengths) {
      print_quantiles("input tokens", d.input);
      print_quantiles("output tokens", d.output);
    }
    if (d.info.has_sessions) {
      line("sessions", counted(d.sessions));
      print_quantiles("turns", d.turns);
      if (d.gaps_ms.sum() > 0) {
        print_quantiles("think time", d.gaps_ms, 1e-3);
      } else {
        line("think time", "none; later turns wait for the answer before and for their own time");
      }
    }
    if (d.endless.accesses > 0) {
      print_endless(d.endless);
    } else if (!d.info.has_sizes) {
      std::cout << "\nThe trace names no content, so nothing of it can be shared.\n";
    }
    if (d.chunks.all.accesses > 0) {
      print_chunks(d.chunks);
    }
    if (d.info.has_sizes) {
      print_objects(d.objects);
    }
  }
  if (!trace.bad_rows.empty()) {
    std::cout << "\nBad rows\n";
  }
  for (std::size_t i = 0; i < std::min(trace.bad_rows.size(), bad_rows_shown); ++i) {
    std::cout << "  " << one_line(trace.bad_rows[i]) << "\n";
  }
  if (trace.bad_rows.size() > bad_rows_shown) {
    std::cout << fmt::format("  and {} more (all with --json)\n",
                             trace.bad_rows.size() - bad_rows_shown);
  }
}

void refuse_bad(const examined_trace& trace) {
  if (!trace.failure.empty()) {
    bool named = trace.failure.starts_with(trace.path + ": ");
    throw input_error{trace.path,
                      named ? trace.failure.substr(trace.path.size() + 2) : trace.failure};
  }
  if (!trace.bad_rows.empty()) {
    throw input_error{trace.path, fmt::format("{} of {} rows are bad", trace.bad_rows.size(),
                                              trace.found.counts.rows_read)};
  }
}

void write_fit(const examined_trace& trace, const std::string& path) {
  new_file file{path};
  fitted_workload fitted =
      fit_trace([&] { return open_trace(trace.format, {.path = trace.path}); });
  std::string text = fitted_scenario(
      fitted, trace.format + ":" + std::filesystem::path{trace.path}.filename().string());
  file.write(text);
  file.keep();
  std::cerr << fmt::format(
      "wrote a generator's settings to {}: {:.1f}% of its tokens hit an endless cache, {:.1f}% of "
      "the trace's; to run it, add [model], [hardware] and [policies]\n",
      path, 100 * fitted.generated_hit_rate, 100 * fitted.hit_rate);
}

void print_formats() {
  std::cout << "\nformats\n";
  for (const auto& [name, format] : trace_formats()) {
    std::cout << fmt::format("  {:<16} {}\n", name, format.summary);
  }
  std::cout << "\n" << trace_format_text();
}

}  // namespace

void traces_command(const std::vector<std::string>& words) {
  arguments given{"traces", "traces FORMAT:PATH [--fit FILE] [--write FILE] [--json]",
                  "Describes a trace and checks every row; exit status 2 where one is bad."};
  given.word("FORMAT:PATH", "the trace, plain or packed (gz, xz, zst)");
  given.option("fit", "FILE",
               "write the [workload] of a generator that resembles it to a new file");
  given.option("write", "FILE", "write the trace in the format \"refrain\" to a new file");
  given.option("block-tokens", "N", "tokens of a block where prompts are given by content (16)");
  given.flag("json", "print one JSON document");
  if (!given.parse(words)) {
    print_formats();
    return;
  }
  std::string text = given.required("FORMAT:PATH");
  std::string written = given.one("write"), fitted = given.one("fit");
  examined_trace trace = examine(text, token_count{given.number("block-tokens", 1, 0)});
  if (given.has("json")) {
    print_json(document_of(trace));
  } else {
    print(trace);
  }
  refuse_bad(trace);
  if (!written.empty()) {
    auto rows = open_trace(trace.format, {.path = trace.path});
    std::uint64_t count = write_trace(*rows, written);
    std::cerr << fmt::format("wrote {} requests to {}\n", counted(count), written);
  }
  if (!fitted.empty()) {
    write_fit(trace, fitted);
  }
}

}  // namespace refrain
