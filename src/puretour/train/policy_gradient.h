// REINFORCE with a weight for every step: the gradient of sum(coefficient * log-probability) over all steps of all
// tours.
//
// Vanilla training has coefficient advantage / number of tours for every step, PUPO multiplies it by the weight W of
// the step. Nothing else differs. A teacher's cross-entropy has coefficient -1 / number of decisions.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "puretour/nn/network.h"

namespace puretour::train {

/// Adds the gradient to that of the parameters and returns the sum itself. `encoded` comes from network.encode() with a
/// graph; tours and coefficients are (B, G, N).
///
/// The decoder works on a few instances at a time, each with a graph of its own, and their gradients of the encoded
/// instances are added up and go through the encoder once: the exact gradient in little memory, which stays in the
/// cache.
double add_gradient(nn::Network& network, const std::vector<nn::Tensor>& encoded, const nn::Tensor& tours,
                    const nn::Tensor& coefficients);

/// The same for taught steps: what became of them. `score.sum` is without a graph.
nn::TaughtScore add_taught_gradient(nn::Network& network, const std::vector<nn::Tensor>& encoded,
                                    const nn::TaughtSteps& steps);

/// Norm of all gradients together.
double gradient_norm(const nn::Network& network);

/// Scales all gradients so that their norm is at most `most`.
void clip_gradient(const nn::Network& network, double norm, double most);

/// Adds the gradient of factor * sum of the Frobenius norms of all parameter matrices.
void add_norm_penalty(const nn::Network& network, double factor);

struct ParameterNorms {
  double sum = 0;    // of the Frobenius norms of the matrices (parameters of two or more dimensions)
  double joint = 0;  // root of the sum of their squares: what the paper's figure can only be
};
ParameterNorms parameter_norms(const nn::Network& network);

}  // namespace puretour::train
