"""Certificates for the tests, made by openssl: good ones, and each kind of bad one."""
import os
import subprocess


class Authority:
    """A CA of its own, in a directory."""

    def __init__(self, directory, name="ca"):
        self.directory = directory
        self.name = name
        self.file = self._path(name + ".pem")
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                      "-subj", "/CN=test " + name, "-keyout", self._path(name + ".key"), "-out", self.file)

    def issue(self, name, *subject_names, begin=None, end=None):
        """(certificate, key): PEM files. `subject_names` as openssl writes them: "DNS:x", "URI:y", "IP:z"."""
        key, request, certificate = (self._path(name + ending) for ending in (".key", ".csr", ".pem"))
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                      "-subj", "/CN=" + name, "-keyout", key, "-out", request)
        os.chmod(key, 0o600)
        extensions = self._path(name + ".ext")
        with open(extensions, "w") as file:
            file.write("keyUsage=digitalSignature\n")
            if subject_names:
                file.write("subjectAltName=%s\n" % ",".join(subject_names))
        if begin is None:
            self._openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self._path(self.name + ".key"),
                          "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", certificate)
        else:
            self._openssl_ca(request, extensions, certificate, begin, end)
        return certificate, key

    def _openssl_ca(self, request, extensions, certificate, begin, end):
        """`openssl ca` alone takes dates, and it wants a small database."""
        database = self._path(self.name + ".db")
        config = self._path(self.name + ".cnf")
        os.makedirs(database, exist_ok=True)
        with open(database + "/index", "a"), open(config, "w") as file:
            file.write("[ca]\ndefault_ca=here\n[here]\ndatabase=%s/index\nserial=%s/serial\nnew_certs_dir=%s\n"
                       "default_md=sha256\npolicy=any\nunique_subject=no\nrand_serial=yes\n"
                       "[any]\ncommonName=supplied\n" % (database, database, database))
        self._openssl("ca", "-batch", "-config", config, "-cert", self.file, "-keyfile", self._path(self.name + ".key"),
                      "-in", request, "-extfile", extensions, "-startdate", begin, "-enddate", end, "-notext",
                      "-out", certificate)

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _openssl(self, *arguments):
        ended = subprocess.run(["/usr/bin/openssl", *arguments], capture_output=True, cwd=self.directory)
        if ended.returncode != 0:
            raise AssertionError("openssl %s: %s" % (" ".join(arguments), ended.stderr.decode()))
