// Spans in, forwards of one module out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "client/graph/forward_vote.h"
#include "client/graph/leaf_policy.h"
#include "client/graph/model_facts.h"
#include "client/spans/span_writer.h"

namespace sbump {

struct CaptureOptions {
  uint64_t forwards = 20;  // until there are so many
  // The module whose calls are the forwards, wherever they are made. Empty: of the outermost
  // modules that with the most operators in one call, the first such one.
  std::string of;
  LeafPolicy leaves;
};

class GraphCapture : public SpanWriter {
 public:
  static constexpr uint64_t kMostForwards = 1'000;
  // Modules whose calls are forwards; of further ones nothing is kept.
  static constexpr size_t kMostRoots = 64;
  // A model that was being called when the capture began is waited for, and one that raises: for so
  // many times as many calls, of others or that raise, as forwards are asked for.
  static constexpr uint64_t kPatience = 50;
  // Of all variants of all of them.
  static constexpr size_t kMostKeptNodes = 400'000;

  GraphCapture(ModelFacts facts, CaptureOptions options)
      : facts_(std::move(facts)), options_(std::move(options)) {}

  void Write(const SpanNode& tree) override;
  void Finish(uint64_t lost) override { lost_ = lost; }
  bool HasEnough() const override { return enough_; }

  // With names. No nodes: no forward was seen.
  Graph Result() const;
  // Modules that were called outermost, in words, for one who has seen no forward.
  std::string WhatWasCalled() const;

 private:
  struct Root {
    size_t number = 0;       // in the order in which they were first seen
    uint64_t operators = 0;  // in the call with most of them
    uint64_t raised = 0, too_large = 0;
    uint64_t ended = 0;  // calls that did not raise
    ForwardVote vote;
  };
  using Roots = std::map<std::string, Root>;

  void Look(const SpanNode& call, std::span<const v1::Operator> operators);
  void Take(const SpanNode& call, std::span<const v1::Operator> operators);
  void Vote(const SpanNode& call, std::span<const v1::Operator> operators, Root& root);
  bool SawEnough() const;
  std::set<std::string> OthersThatWereCalled(const std::string& chosen) const;
  std::set<std::string> LargerOnesThatWereNot(const std::string& chosen) const;
  Roots::const_iterator Chosen() const;

  const ModelFacts facts_;
  const CaptureOptions options_;
  Roots roots_;                             // by path
  std::map<std::string, uint64_t> others_;  // calls of outermost modules that were no forwards
  std::set<std::string> cut_off_;           // roots of whose calls the begin was not seen
  size_t nodes_left_ = kMostKeptNodes;
  uint64_t lost_ = 0;
  bool enough_ = false;
};

}  // namespace sbump
