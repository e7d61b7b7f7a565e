// A tour of the attention model, node by node, with keys and values rounded to bfloat16: most of what a step reads of
// an instance of 50 nodes fits L1.
//
// Two numbers share a 32-bit word. The lower one is a bfloat16 that a shift makes a float. The upper one is the word
// itself, read as a float: it is rounded so that the bits below it, which belong to the other number, are part of the
// nearest value. So a word costs three instructions, two of them products: less than the instruction for products of
// bfloat16, which takes four times as long as one of float.
//
// Nodes lie in slots, sixteen slots are a panel. A visited node stays in its slot, masked. When sixteen slots are empty
// the nodes of the last panel move into the gaps of the others: so the work shrinks with the tour, and nodes move less
// than half as often as if every gap were filled at once, and many at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "puretour/kernels/simd/aligned.h"
#include "puretour/kernels/simd/simd.h"

namespace puretour::kernels {

struct DecoderShape {
  std::size_t num_heads = 1;
  std::size_t head_dim = 16;
  float clip = 10;  // scores are clip * tanh(product)

  [[nodiscard]] std::size_t dim() const { return num_heads * head_dim; }
};

/// Keys and values of all nodes of an instance.
class Bf16Nodes {
 public:
  /// Whether this CPU has the instructions (at least Isa::kAvx512), for heads of whole blocks of 16 channels and whole
  /// pairs of such blocks.
  static bool take(const DecoderShape& shape);

  /// Row i of `rows` begins with dim() numbers each of glimpse key, glimpse value and score key of node i; scales are
  /// folded in. There is at least one node, and take(shape).
  Bf16Nodes(const DecoderShape& shape, const float* rows, std::size_t stride, std::size_t num_nodes);

 private:
  friend class Bf16Decoder;

  // Panels of one kind: those of a part (a head, say) follow each other, and a panel has `rows` rows of 16 words.
  struct Panels {
    std::size_t offset = 0;  // in the words
    std::size_t parts = 0;
    std::size_t rows = 0;
  };
  struct Layout {
    DecoderShape shape;
    std::size_t num_panels = 0;
    Panels glimpse_keys;  // by head; a row is a pair of channels, with a word for every slot
    Panels score_keys;    // the same, in one part
    Panels values;        // by pair of blocks of channels; a row is a slot, with a word for every channel

    [[nodiscard]] std::size_t index(const Panels& panels, std::size_t part, std::size_t panel) const {
      return panels.offset + (part * num_panels + panel) * panels.rows * kBlock;
    }
  };

  std::size_t num_nodes_;
  Layout layout_;
  AlignedVector<std::uint32_t> words_;
};

/// The nodes that are left of a tour, and what the last query made of them.
class Bf16Decoder {
 public:
  /// A new tour. Memory of the one before is used again.
  void start(const Bf16Nodes& nodes);

  /// Of the node in this slot, which must not be empty.
  [[nodiscard]] std::int32_t node(std::size_t slot) const { return nodes_[slot]; }
  /// Of a node that is left.
  [[nodiscard]] std::size_t slot_of(std::int32_t node) const { return slot_of_[static_cast<std::size_t>(node)]; }

  /// The next step. All that follows is about its scores. At least one node is left.
  void score(const float* query);

  /// Attended values of all heads.
  [[nodiscard]] std::span<const float> glimpse() const { return glimpse_; }
  /// By slot; minus infinity where it is empty.
  [[nodiscard]] std::span<const float> scores() const { return std::span(scores_).first(num_slots()); }
  /// Of the softmax of the scores.
  [[nodiscard]] double log_prob(std::size_t slot) const;

  /// The slot with the highest score; the lowest node number decides ties.
  [[nodiscard]] std::size_t best() const;
  /// A slot drawn with probability softmax(score / temperature), by a uniform number of [0, 1). Once in a step.
  [[nodiscard]] std::size_t sample(double uniform, double temperature);

  /// The node of this slot is no longer left.
  void visit(std::size_t slot);

 private:
  using Panels = Bf16Nodes::Panels;

  [[nodiscard]] std::size_t num_slots() const { return live_.size() * kBlock; }
  [[nodiscard]] std::uint32_t* panel(const Panels& panels, std::size_t part, std::size_t index) {
    return words_.data() + layout_.index(panels, part, index);
  }
  [[nodiscard]] float* attention(std::size_t head) { return attention_.data() + head * layout_.num_panels * kBlock; }

  void attend(const float* query);
  template <std::size_t kHeads>
  void weigh(std::size_t first_head);
  void gather_values();
  void score_panels();
  float weigh_scores(float factor);
  void drop_last_panel();
  void fill_gaps(std::size_t to, const std::uint8_t* from_lanes, std::uint16_t gaps);

  Bf16Nodes::Layout layout_;
  AlignedVector<std::uint32_t> words_;
  std::vector<std::uint16_t> live_;     // by panel that is left: a bit for every slot, set where there is a node
  std::size_t num_empty_ = 0;           // slots
  std::vector<std::int32_t> nodes_;     // by slot
  std::vector<std::uint32_t> slot_of_;  // by node, while it is left

  // Of the last step.
  AlignedVector<float> attention_;  // by head and slot: products of query and keys, then their exponentials
  std::vector<float> factors_;      // by head: 1 / sum of the exponentials
  AlignedVector<float> glimpse_;
  AlignedVector<float> scores_;
  AlignedVector<float> weights_;  // exp(score - largest_), or that of sample(); 0 where the slot is empty
  float largest_ = 0;
  float sum_ = 0;  // of exp(score - largest_)
};

}  // namespace puretour::kernels
