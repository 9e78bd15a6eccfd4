// Streams the file through libsodium, a megabyte at a time. The name of the file is the caller's
// affair: directories and unreadable files fail as in input_file.
#include "traces/sha256.hpp"

#include <sodium.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "traces/error.hpp"

namespace refrain {

namespace {

struct file_closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::string& path) {
  throw input_error{path, "cannot be read: " + std::string{std::strerror(errno)}};
}

std::string finish(crypto_hash_sha256_state& state) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256_final(&state, digest.data());
  std::array<char, 2 * digest.size() + 1> hex;
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  return hex.data();
}

}  // namespace

std::string sha256_of_file(const std::string& path) {
  std::unique_ptr<std::FILE, file_closer> file{std::fopen(path.c_str(), "rb")};
  if (!file) {
    fail(path);
  }
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<unsigned char> block(std::size_t{1} << 20);
  while (std::size_t size = std::fread(block.data(), 1, block.size(), file.get())) {
    crypto_hash_sha256_update(&state, block.data(), size);
  }
  if (std::ferror(file.get())) {
    fail(path);
  }
  return finish(state);
}

std::string sha256_of_text(std::string_view text) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(text.data()),
                            text.size());
  return finish(state);
}

}  // namespace refrain
