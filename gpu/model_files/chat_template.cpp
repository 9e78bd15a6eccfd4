#include "gpu/model_files/chat_template.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::string_view supported =
    "supported are ChatML (<|im_start|>), Llama 2 (<<SYS>>), Llama 3 (<|start_header_id|>) and "
    "Zephyr (<|user|>)";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// A string of the template's language as text: \n is a line end.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool line_end = text.substr(i).starts_with("\\n");
    out += line_end ? '\n' : text[i];
    i += line_end ? 1 : 0;
  }
  return out;
}

}  // namespace

chat_template::chat_template(std::string where, std::string_view jinja, std::string bos,
                             std::string eos)
    : where_{std::move(where)} {
  recognise(jinja);
  bos_ = has(jinja, "bos_token") ? std::move(bos) : "";
  eos_ = has(jinja, "eos_token") ? std::move(eos) : "";
  for (std::string_view trim : {"| trim", "|trim", ".strip()"}) {
    trims_ = trims_ || has(jinja, trim);
  }
}

void chat_template::fail(const std::string& what) const {
  throw input_error{where_, "key \"tokenizer.chat_template\": " + what};
}

void chat_template::recognise(std::string_view jinja) {
  // Reasoning that is cut out of earlier answers, and a date that is put in, change the text.
  for (std::string_view other : {"</think>", "strftime_now", "date_string", "reasoning_content"}) {
    if (has(jinja, other)) {
      fail(fmt::format("templates with {} are not supported", other));
    }
  }
  if (has(jinja, "<|im_start|>") && has(jinja, "<|im_end|>")) {
    kind_ = kind::chatml;
    read_default_system(jinja);
  } else if (has(jinja, "<|start_header_id|>") && has(jinja, "<|eot_id|>")) {
    kind_ = kind::llama_3;
  } else if (has(jinja, "[INST]") && has(jinja, "<<SYS>>") && has(jinja, "eos_token")) {
    kind_ = kind::llama_2;
  } else if (has(jinja, "<|user|>") && has(jinja, "<|assistant|>") && has(jinja, "eos_token")) {
    kind_ = kind::zephyr;
  } else {
    fail(fmt::format("is of no known form; {}", supported));
  }
}

/// ChatML's templates write a system message of their own as one literal between its marks.
void chat_template::read_default_system(std::string_view jinja) {
  constexpr std::string_view start = "<|im_start|>system";
  for (std::size_t at = jinja.find(start); at != std::string_view::npos;
       at = jinja.find(start, at + 1)) {
    std::string_view rest = jinja.substr(at + start.size());
    rest.remove_prefix(rest.starts_with("\n") ? 1 : rest.starts_with("\\n") ? 2 : 0);
    std::size_t quote = rest.find_first_of("'\"{");
    std::size_t end = rest.find("<|im_end|>");
    if (quote == 0) {
      continue;  // the conversation's own
    }
    if (end == std::string_view::npos || end > quote) {
      fail("its system message cannot be read; it is no single literal up to <|im_end|>");
    }
    default_system_ = unescaped(rest.substr(0, end));
  }
}

std::string_view chat_template::form() const {
  switch (kind_) {
    case kind::chatml:
      return "chatml";
    case kind::llama_2:
      return "llama-2";
    case kind::llama_3:
      return "llama-3";
    case kind::zephyr:
      return "zephyr";
  }
  REFRAIN_ASSERT(false);
}

void chat_template::check(std::span<const chat_message> messages) const {
  if (messages.empty()) {
    throw input_error{where_, "a conversation needs a message"};
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != "system" && role != "user" && role != "assistant") {
      throw input_error{where_, fmt::format("message {} has the role \"{}\"; expected system, user "
                                            "or assistant",
                                            i + 1, role)};
    }
    if (role == "system" && i > 0) {
      throw input_error{where_,
                        fmt::format("message {} is of the system; only the first may be", i + 1)};
    }
  }
}

void chat_template::add_content(chat_text& out, std::string_view content) const {
  if (trims_) {
    content = trimmed(content);
  }
  std::size_t begin = out.text.size();
  out.text += content;
  out.contents.emplace_back(begin, out.text.size());
}

void chat_template::add(chat_text& out, const chat_message& message) const {
  if (kind_ == kind::chatml) {
    out.text += "<|im_start|>" + message.role + "\n";
    add_content(out, message.content);
    out.text += "<|im_end|>\n";
  } else if (kind_ == kind::llama_3) {
    out.text += "<|start_header_id|>" + message.role + "<|end_header_id|>\n\n";
    add_content(out, message.content);
    out.text += "<|eot_id|>";
  } else {
    out.text += "<|" + message.role + "|>\n";
    add_content(out, message.content);
    out.text += eos_ + "\n";
  }
}

// The system message stands inside of the first user's; each user's turn begins with BOS.
void chat_template::render_llama_2(chat_text& out, std::span<const chat_message> messages) const {
  bool system = messages[0].role == "system";
  for (std::size_t i = system ? 1 : 0; i < messages.size(); ++i) {
    bool user = (i - (system ? 1 : 0)) % 2 == 0;
    if (messages[i].role != (user ? "user" : "assistant")) {
      throw input_error{where_, fmt::format("message {} is out of turn; Llama 2's form wants user "
                                            "and assistant by turns",
                                            i + 1)};
    }
    out.text += user ? bos_ + "[INST] " : " ";
    if (user && i == 1 && system) {
      out.text += "<<SYS>>\n";
      std::size_t begin = out.text.size();
      out.text += messages[0].content;
      out.contents.emplace_back(begin, out.text.size());
      out.text += "\n<</SYS>>\n\n";
    }
    add_content(out, messages[i].content);
    out.text += user ? " [/INST]" : " " + eos_;
  }
}

chat_text chat_template::render(std::span<const chat_message> messages, bool start_answer) const {
  check(messages);
  chat_text out;
  if (kind_ == kind::llama_2) {
    render_llama_2(out, messages);
    return out;
  }
  out.text = bos_;
  if (messages[0].role != "system" && !default_system_.empty()) {
    add(out, {"system", default_system_});
  }
  for (const chat_message& message : messages) {
    add(out, message);
  }
  if (start_answer) {
    out.text += kind_ == kind::chatml    ? "<|im_start|>assistant\n"
                : kind_ == kind::llama_3 ? "<|start_header_id|>assistant<|end_header_id|>\n\n"
                                         : "<|assistant|>\n";
  }
  return out;
}

}  // namespace refrain
