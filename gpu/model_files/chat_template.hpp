// Conversations as the text a chat model was trained on. Model files say how by a template in the
// Jinja language (tokenizer.chat_template), for which Debian has no C++ library. Four forms cover
// most of the Llama family: ChatML, Llama 2, Llama 3 and Zephyr. A template is taken for one of
// them by the marks that it contains, and refused where it contains others or something besides.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain {

/// One message of a conversation.
struct chat_message {
  std::string role;  ///< system, user or assistant
  std::string content;
};

/// A conversation as text. Marks in it are special tokens, except inside of the contents.
struct chat_text {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> contents;  ///< begin and end, ascending
};

/// A template that was recognised.
class chat_template {
 public:
  /// `bos` and `eos` are the texts of these tokens, "" for none. Throws input_error naming `where`
  /// (the file) for a template of another form.
  chat_template(std::string where, std::string_view jinja, std::string bos, std::string eos);

  /// The form: chatml, llama-2, llama-3 or zephyr.
  std::string_view form() const;
  /// The system message that is put before conversations without one; "" for none.
  const std::string& default_system() const { return default_system_; }
  /// A conversation, followed by the start of an answer where `start_answer`. Throws input_error
  /// for no messages, a role that is not one of the three, a system message that is not the first,
  /// and, in Llama 2's form, for users and assistants that do not take turns.
  chat_text render(std::span<const chat_message> messages, bool start_answer) const;

 private:
  enum class kind { chatml, llama_2, llama_3, zephyr };

  [[noreturn]] void fail(const std::string& what) const;
  void recognise(std::string_view jinja);
  void read_default_system(std::string_view jinja);
  void check(std::span<const chat_message> messages) const;
  void add(chat_text& out, const chat_message& message) const;
  void add_content(chat_text& out, std::string_view content) const;
  void render_llama_2(chat_text& out, std::span<const chat_message> messages) const;

  std::string where_;
  kind kind_ = kind::chatml;
  std::string bos_, eos_;  // as the template has them: "" where it names them not
  bool trims_ = false;     // contents lose white space at both ends
  std::string default_system_;
};

}  // namespace refrain
