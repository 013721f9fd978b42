#include "client/proof_text.h"

#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string Counted(uint32_t count, const char* one, const char* many) {
  return StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

std::string ProofText(const v1::DetachProof& proof) {
  std::string text = StrCat("detach proof: ", Counted(proof.links_left(), "link", "links"),
                            " left, ", Counted(proof.fields_left(), "field", "fields"), " left, ",
                            Counted(proof.text_bytes_changed(), "text byte", "text bytes"),
                            " changed (", proof.verified() ? "verified" : "not verified");
  if (!proof.detail().empty()) text += StrCat("; ", Printable(proof.detail()));
  return text + ")";
}

bool ProofIsClean(const v1::DetachProof& proof) {
  return proof.links_left() == 0 && proof.fields_left() == 0 && proof.text_bytes_changed() == 0;
}

}  // namespace sbump
