// A real model against other programs: logits and greedy text of SmolLM2-135M against numpy in
// fp32, and the largest logit against llama.cpp (reference_forward.json; the script beside it says
// how it was made).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/gpu/decoder_support.hpp"
#include "tests/gpu/model_folder.hpp"

namespace refrain {
namespace {

constexpr std::int64_t block_tokens = 16;
constexpr std::size_t greedy_tokens = 64;

struct reference_prompt {
  std::vector<token_id> tokens, greedy;
  std::vector<std::size_t> top;
  std::vector<float> top_logits, logits;
  double largest_magnitude;
  std::size_t llama_cpp;
};

struct reference_answers {
  std::vector<std::size_t> places;
  std::vector<reference_prompt> prompts;
};

const reference_answers& reference() {
  static const reference_answers answers = [] {
    std::ifstream in{REFRAIN_SOURCE_DIR "/tests/gpu/reference_forward.json"};
    auto json = nlohmann::json::parse(in);
    reference_answers out{.places = json.at("places"), .prompts = {}};
    for (const auto& each : json.at("prompts")) {
      out.prompts.push_back({.tokens = each.at("tokens"),
                             .greedy = each.at("greedy"),
                             .top = each.at("top"),
                             .top_logits = each.at("top_logits"),
                             .logits = each.at("logits"),
                             .largest_magnitude = each.at("largest_magnitude"),
                             .llama_cpp = each.at("llama_cpp")});
    }
    return out;
  }();
  return answers;
}

/// The model with a sequence for each prompt.
class smollm2 {
 public:
  explicit smollm2(cpu_precision precision)
      : decoder_{std::make_shared<llama_weights>(load_llama(fetched_model("smollm2-135m"))),
                 precision, 2048, block_tokens} {
    fill_with_nan(decoder_.kv());
    for (const reference_prompt& prompt : reference().prompts) {
      std::size_t tokens = prompt.tokens.size() + greedy_tokens;
      auto blocks = blocks_for(tokens, block_tokens, next_block_);
      next_block_ += blocks.size();
      sequences_.emplace_back(prompt.tokens, blocks);
    }
  }

  /// Logits of every sequence's next token; new tokens are appended and only they are computed.
  std::vector<std::vector<float>> next(const std::vector<token_id>& appended = {}) {
    std::vector<decoder_piece> pieces;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      test_sequence& sequence = sequences_[i];
      std::size_t from = 0;
      if (!appended.empty()) {
        from = sequence.tokens.size();
        sequence.tokens.push_back(appended[i]);
        sequence.positions.push_back(static_cast<std::int64_t>(from));
      }
      pieces.push_back(sequence.piece(from, sequence.tokens.size(), decoder_piece::last));
    }
    std::span<const float> logits = decoder_.forward(pieces);
    auto size = static_cast<std::size_t>(decoder_.weights().shape.vocabulary);
    std::vector<std::vector<float>> out;
    for (std::size_t at = 0; at < logits.size(); at += size) {
      out.emplace_back(logits.begin() + static_cast<std::ptrdiff_t>(at),
                       logits.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    return out;
  }

 private:
  cpu_decoder decoder_;
  std::vector<test_sequence> sequences_;
  std::size_t next_block_ = 0;
};

std::size_t largest_of(const std::vector<float>& logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

/// Kullback-Leibler divergence of the next-token distribution `q` from `p`, in nats.
double divergence(const std::vector<float>& p, const std::vector<float>& q) {
  auto log_sum = [](const std::vector<float>& logits) {
    double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (float each : logits) {
      sum += std::exp(each - largest);
    }
    return largest + std::log(sum);
  };
  double p_sum = log_sum(p);
  double q_sum = log_sum(q);
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    out += std::exp(p[i] - p_sum) * ((p[i] - p_sum) - (q[i] - q_sum));
  }
  return out;
}

/// llama.cpp rounds activations to 8 bits, so its largest logit may be another where two are near.
void expect_choice_of_llama_cpp(const std::vector<std::vector<float>>& logits) {
  constexpr float clearly = 0.5F;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const reference_prompt& prompt = reference().prompts[i];
    if (prompt.top_logits[0] - prompt.top_logits[1] > clearly) {
      EXPECT_EQ(largest_of(logits[i]), prompt.llama_cpp) << "prompt " << i;
      ++compared;
    }
  }
  EXPECT_GE(compared, logits.size() / 2);
}

TEST(forward_reference, LogitsAndGreedyTextInFp32AreThoseOfNumpyAndTheChoiceIsLlamaCpps) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  smollm2 model{cpu_precision::fp32};
  std::vector<std::vector<float>> logits = model.next();
  double worst = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    SCOPED_TRACE("prompt " + std::to_string(i));
    const reference_prompt& prompt = reference().prompts[i];
    auto compare = [&](const std::vector<std::size_t>& places, const std::vector<float>& expected) {
      ASSERT_EQ(places.size(), expected.size());
      for (std::size_t k = 0; k < places.size(); ++k) {
        double difference = std::abs(double{logits[i][places[k]]} - double{expected[k]});
        EXPECT_LE(difference, 1e-3 * prompt.largest_magnitude) << "token " << places[k];
        worst = std::max(worst, difference / prompt.largest_magnitude);
      }
    };
    compare(prompt.top, prompt.top_logits);
    compare(reference().places, prompt.logits);
  }
  std::cout << "largest difference: " << worst << " of the largest logit\n";
  expect_choice_of_llama_cpp(logits);
  std::vector<std::vector<token_id>> greedy(logits.size());
  for (std::size_t step = 0; step < greedy_tokens; ++step) {
    std::vector<token_id> chosen;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      chosen.push_back(static_cast<token_id>(largest_of(logits[i])));
      greedy[i].push_back(chosen.back());
    }
    logits = model.next(chosen);
  }
  for (std::size_t i = 0; i < greedy.size(); ++i) {
    EXPECT_EQ(greedy[i], reference().prompts[i].greedy) << "prompt " << i;
  }
}

TEST(forward_reference, EveryLogitInFp32IsThatOfNumpyWhereAllAreGiven) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  const char* path = std::getenv("REFRAIN_FULL_LOGITS");
  if (path == nullptr) {
    GTEST_SKIP() << "REFRAIN_FULL_LOGITS names no file of reference_forward.py --full";
  }
  std::ifstream in{path, std::ios::binary};
  double worst = 0;
  for (const std::vector<float>& logits : smollm2{cpu_precision::fp32}.next()) {
    std::vector<float> expected(logits.size());
    in.read(reinterpret_cast<char*>(expected.data()),
            static_cast<std::streamsize>(expected.size() * sizeof(float)));
    ASSERT_TRUE(in) << path << " is too short";
    worst = std::max(worst, relative_difference(logits, expected));
  }
  EXPECT_LE(worst, 1e-3);
  std::cout << "largest difference: " << worst << " of the largest logit\n";
}

TEST(forward_reference, FastPrecisionsStayNearFp32AndChooseAsLlamaCppWhereItIsClear) {
  REFRAIN_NEEDS_MODEL("smollm2-135m");
  auto reference_logits = smollm2{cpu_precision::fp32}.next();
  for (cpu_precision precision : precisions_here()) {
    if (precision == cpu_precision::fp32) {
      continue;
    }
    SCOPED_TRACE(name_of(precision));
    auto logits = smollm2{precision}.next();
    expect_choice_of_llama_cpp(logits);
    double sum = 0;
    double worst = 0;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      double here = divergence(reference_logits[i], logits[i]);
      sum += here;
      worst = std::max(worst, here);
      equal += largest_of(reference_logits[i]) == largest_of(logits[i]) ? 1 : 0;
    }
    std::cout << name_of(precision) << ": KL to fp32 " << sum / static_cast<double>(logits.size())
              << " nats on average, " << worst << " at worst; the largest logit is the same in "
              << equal << " of " << logits.size() << "\n";
    EXPECT_LE(worst, precision == cpu_precision::fp32_fast ? 1e-6 : 0.1);
  }
}

}  // namespace
}  // namespace refrain
