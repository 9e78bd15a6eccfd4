// Fields that hold their default are left out, so a row of a plain trace is short. Numbers are
// written whole: times in nanoseconds, ids with all 64 bits.
#include "traces/write_trace.hpp"

#include <array>

#include "traces/new_file.hpp"

namespace refrain {

namespace {

constexpr std::size_t flush_bytes = 1 << 18;

void append(std::string& text, const char* name, std::uint64_t value) {
  text += ",\"";
  text += name;
  text += "\":";
  text += std::to_string(value);
}

void append_time(std::string& text, const char* name, sim_time value) {
  text += ",\"";
  text += name;
  text += "\":";
  text += std::to_string(value.count());
}

void append_blocks(std::string& text, const std::vector<block_key>& blocks) {
  text += ",\"blocks\":[";
  for (block_key key : blocks) {
    text += std::to_string(key.get());
    text += ',';
  }
  text.back() = ']';
}

void append_segments(std::string& text, const std::vector<segment>& segments, bool versions) {
  text += ",\"segments\":[";
  for (const segment& piece : segments) {
    text += "[\"";
    text += segment_kind_name(piece.kind);
    text += "\"," + std::to_string(piece.content.get()) + ",";
    text += std::to_string(piece.tokens.get());
    if (versions && piece.document != content_id{}) {
      text += "," + std::to_string(piece.document.get()) + "," + std::to_string(piece.version) +
              "," + std::to_string(piece.chunk);
    }
    text += "],";
  }
  text.back() = ']';
}

void append_hints(std::string& text, const trace_info& info, const request& row) {
  if (info.has_hints) {
    append(text, "priority", static_cast<std::uint64_t>(row.hint.priority));
    append_time(text, "retain_ns", row.hint.duration);
  }
  if (info.has_steps) {
    append(text, "agent", row.agent);
    if (!row.upcoming.empty()) {
      text += ",\"upcoming\":[";
      for (const agent_steps& turn : row.upcoming) {
        text += "[" + std::to_string(turn.agent) + "," + std::to_string(turn.steps) + "],";
      }
      text.back() = ']';
    }
  }
}

}  // namespace

std::string_view trace_format_text() {
  return R"(The format "refrain" is JSON lines, plain or packed, in order of
arrival. The first line is a header, every other line a request; a field that is left out has the
value in brackets.

header   format        "refrain"
         version       1
         block_tokens  tokens of a block id, the last block of a prompt may be short [0: no ids]
         id_scope      within what equal ids mean equal content: "trace", "session", "none" ["none"]
         chains        rows carry block ids of prefix chains [false]
         content       rows carry segments [false]
         sessions      rows name their session [false]
         versions      segments may name a chunk of a document and its version [false]
         hints         rows say how long they want to be kept [false]
         steps         rows name an agent and the turns of its workflow that are to come [false]
         lengths       rows carry token counts [true]
         measured      rows carry times of a measured run [false]
         sizes         rows are accesses of sized objects: one id in blocks, and size [false]
         disorder_ns   how far an arrival may lie before that of an earlier row [0]

request  arrival_ns    when it is sent, whole nanoseconds since the start of the trace; for a later
                       turn the earliest such time [0]
         input         tokens of the prompt, at least 1 (needed where there are lengths)
         output        tokens of the answer (needed where there are lengths)
         session       any whole number (needed where there are sessions); rows that share one are
                       its turns, in order
         delay_ns      think time of a later turn after the previous answer [0]
         type          what a request of a session is for, a number of your own below 2^32: policies
                       may tell types and turns apart [0]
         blocks        [ID, ...], first block first; 0 to 2^64 - 1 [none]
         segments      [[KIND, CONTENT, TOKENS], ...]: the prompt by content; KIND is "system",
                       "history", "document", "question", "answer" or "web"; equal CONTENT
                       (0 to 2^64 - 1) means equal tokens; together at most input. With versions
                       [KIND, CONTENT, TOKENS, DOCUMENT, VERSION, CHUNK], too: DOCUMENT is 1 to
                       2^64 - 1 and stays, VERSION and CHUNK are below 2^32 [none]
         answer        content of the answer, where a later prompt contains it [0: none does]
         salt          isolation domain: different salts share nothing [0]
         size          of the object, 1 to 2^32 - 1 [1]
         ttft_ns, e2e_ns  measured times since the arrival, both or none
         priority      0 to 100: how much its blocks matter [35]
         retain_ns     how long that priority holds [0: without end]
         agent         whose turn it is, below 2^32 [0]
         upcoming      [[AGENT, STEPS], ...]: turns to come, and in how many steps [none]
)";
}

std::string_view segment_kind_name(segment_kind kind) {
  constexpr std::array<std::string_view, segment_kinds> names{"system",   "history", "document",
                                                              "question", "answer",  "web"};
  return names.at(static_cast<std::size_t>(kind));
}

void append_header(std::string& text, const trace_info& info) {
  text += "{\"format\":\"refrain\"";
  append(text, "version", trace_format_version);
  append(text, "block_tokens", static_cast<std::uint64_t>(info.block_tokens.get()));
  text += ",\"id_scope\":\"" + (info.id_scope.empty() ? "none" : info.id_scope) + "\"";
  for (auto [name, flag] : {std::pair{"chains", info.has_chains},
                            {"content", info.has_content},
                            {"sessions", info.has_sessions},
                            {"lengths", info.has_lengths},
                            {"measured", info.has_measured},
                            {"sizes", info.has_sizes}}) {
    text += std::string{",\""} + name + "\":" + (flag ? "true" : "false");
  }
  for (auto [name, flag] : {std::pair{"versions", info.has_versions},
                            {"hints", info.has_hints},
                            {"steps", info.has_steps}}) {
    text += flag ? std::string{",\""} + name + "\":true" : "";
  }
  append_time(text, "disorder_ns", info.disorder);
  text += "}\n";
}

void append_row(std::string& text, const trace_info& info, const request& row) {
  text += "{\"arrival_ns\":" + std::to_string(row.arrival.count());
  if (info.has_lengths) {
    append(text, "input", static_cast<std::uint64_t>(row.input_tokens.get()));
    append(text, "output", static_cast<std::uint64_t>(row.output_tokens.get()));
  }
  if (info.has_sessions) {
    append(text, "session", row.session);
  }
  if (row.type != 0) {
    append(text, "type", row.type);
  }
  if (row.delay != sim_time{0}) {
    append_time(text, "delay_ns", row.delay);
  }
  if (!row.blocks.empty()) {
    append_blocks(text, row.blocks);
  }
  if (!row.segments.empty()) {
    append_segments(text, row.segments, info.has_versions);
  }
  if (row.answer != content_id{}) {
    append(text, "answer", row.answer);
  }
  if (row.salt != 0) {
    append(text, "salt", row.salt);
  }
  if (row.object_size != 1) {
    append(text, "size", row.object_size);
  }
  if (row.measured) {
    append_time(text, "ttft_ns", row.measured->ttft);
    append_time(text, "e2e_ns", row.measured->e2e);
  }
  append_hints(text, info, row);
  text += "}\n";
}

std::uint64_t write_trace(source& rows, const std::string& path) {
  new_file file{path};
  std::string text;
  append_header(text, rows.info());
  std::uint64_t count = 0;
  for (request row; rows.next(row); ++count) {
    append_row(text, rows.info(), row);
    if (text.size() >= flush_bytes) {
      file.write(text);
    }
  }
  file.write(text);
  file.keep();
  return count;
}

}  // namespace refrain
