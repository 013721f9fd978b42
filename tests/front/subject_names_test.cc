#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/front/tls.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

// With these subject alternative names, of which the values need not be what their kinds may be.
Certificate Make(const std::vector<std::pair<int, std::string>>& names) {
  Certificate certificate(X509_new(), X509_free);
  GENERAL_NAMES* list = sk_GENERAL_NAME_new_null();
  for (const auto& [kind, text] : names) {
    ASN1_IA5STRING* value = ASN1_IA5STRING_new();
    ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, kind, value);
    sk_GENERAL_NAME_push(list, name);
  }
  X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, list, 0, X509V3_ADD_DEFAULT);
  GENERAL_NAMES_free(list);
  return certificate;
}

TEST(SubjectNamesTest, OfEachKind) {
  const Certificate certificate = Make(
      {{GEN_DNS, "dash.example"}, {GEN_URI, "spiffe://site/dash"}, {GEN_EMAIL, "a@b.example"}});
  EXPECT_THAT(SubjectNames(certificate.get()),
              ElementsAre("dns:dash.example", "uri:spiffe://site/dash", "email:a@b.example"));
}

// Messages of gRPC must be UTF-8: one such name in a list, and nobody could read it.
TEST(SubjectNamesTest, NoneThatIsNotPrintableAscii) {
  using namespace std::string_literals;
  for (const std::string& bad :
       {"\xff"s, "d\xc3\xa9j\xc3\xa0"s, "a\nb"s, "root\0.example"s, "\x7f"s}) {
    EXPECT_THAT(SubjectNames(Make({{GEN_DNS, bad}}).get()), IsEmpty());
    EXPECT_THAT(SubjectNames(Make({{GEN_URI, bad}, {GEN_DNS, "good"}}).get()),
                ElementsAre("dns:good"));
  }
}

}  // namespace
}  // namespace sbump
