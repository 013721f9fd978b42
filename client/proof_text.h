// The proof of detach in words.
#pragma once

#include <string>

#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// "detach proof: 0 links left, 0 fields left, 0 text bytes changed (verified)".
std::string ProofText(const v1::DetachProof& proof);

// Nothing was found left in the target. Also true where nothing was left to look at.
bool ProofIsClean(const v1::DetachProof& proof);

}  // namespace sbump
