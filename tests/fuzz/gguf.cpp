// Any bytes as a model file: container, decoder, tokenizer and template may refuse them, by
// input_error only, and what they accept must be usable: rows are read, texts survive, and
// conversations are put together.
#include "gpu/model_files/encodings.hpp"
#include "gpu/model_files/llama_file.hpp"
#include "gpu/model_files/tokenizer.hpp"
#include "memory_file.hpp"
#include "traces/error.hpp"

namespace {

using namespace refrain;

template <class Call>
void accept_or_refuse(Call call) {
  try {
    call();
  } catch (const input_error&) {
  }
}

void read_values(const gguf_file& file) {
  for (const gguf_value& value : file.values()) {
    accept_or_refuse([&] { file.integer(value.key); });
    accept_or_refuse([&] { file.number(value.key); });
    accept_or_refuse([&] { file.flag(value.key); });
    accept_or_refuse([&] { file.text(value.key); });
    accept_or_refuse([&] { file.texts(value.key); });
    accept_or_refuse([&] { file.integers(value.key); });
    accept_or_refuse([&] { file.numbers(value.key); });
  }
}

void read_rows(const gguf_file& file) {
  for (const gguf_tensor& tensor : file.tensors()) {
    weight_matrix matrix{tensor.type, tensor.rows(), tensor.columns(), tensor.bytes};
    std::vector<float> row(static_cast<std::size_t>(matrix.columns));
    dequantise(matrix.type, row_of(matrix, 0), row);
    dequantise(matrix.type, row_of(matrix, matrix.rows - 1), row);
  }
}

void use_tokenizer(const gguf_file& file) {
  tokenizer words{file};
  std::string_view text = "It's  a b\xff 12 \xe4\xbd\xa0<s>\n";
  for (bool control : {false, true}) {
    std::vector<token_id> ids = words.encode(text, {.control_tokens = control});
    for (token_id id : ids) {
      REFRAIN_ASSERT(id >= 0 && static_cast<std::size_t>(id) < words.words().size());
      words.bytes_of(id);
    }
    words.decode(ids, control);
  }
  std::vector<chat_message> messages{{"system", "s"}, {"user", "<s>u"}, {"assistant", "a"}};
  words.encode_chat(messages);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const memory_file memory;
  memory.write(data, size);
  accept_or_refuse([] {
    gguf_file file{memory.path()};
    read_values(file);
    read_rows(file);
    accept_or_refuse([&] { load_llama(file); });
    accept_or_refuse([&] { use_tokenizer(file); });
  });
  return 0;
}
