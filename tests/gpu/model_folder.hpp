// Where `./dev model NAME` puts models with weights.
#pragma once

#include <filesystem>
#include <string>

namespace refrain {

inline std::string fetched_model(const std::string& name) {
  return std::string{REFRAIN_MODELS} + "/" + name + ".gguf";
}

}  // namespace refrain

/// Skips the test, saying how to get the model, where it has not been fetched.
#define REFRAIN_NEEDS_MODEL(name)                                                               \
  if (!std::filesystem::exists(::refrain::fetched_model(name))) {                               \
    GTEST_SKIP() << ::refrain::fetched_model(name) << " is absent; run ./dev model " << (name); \
  }
