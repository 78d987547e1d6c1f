"""A certificate authority of the tests, and what it signs."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(host):
    if "://" in host:
        return x509.UniformResourceIdentifier(host)
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """Writes PEM files into a folder."""

    def __init__(self, folder, name="tests"):
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(f"authority of the {name}")
        self.certificate = self._sign(self.name, self.key.public_key(), [], True)
        self.file = str(self._write("ca.pem", self._pem(self.certificate)))

    def issue(self, name, hosts=("127.0.0.1", "localhost"), expired=False, subject=None):
        """The paths of a certificate and its key. Written anew, they are replaced by renaming."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(subject or name)
        certificate = self._sign(subject, key.public_key(), hosts, False, expired)
        private = key.private_bytes(serialization.Encoding.PEM,
                                    serialization.PrivateFormat.PKCS8,
                                    serialization.NoEncryption())
        # The key first: between the two, the pair does not fit, and is refused by who reads it.
        return (str(self._write(f"{name}.pem", self._pem(certificate))),
                str(self._write(f"{name}.key", private)))

    def _sign(self, name, public_key, hosts, is_authority, expired=False):
        now = datetime.datetime.utcnow()
        begin, end = (now - 9 * DAY, now - DAY) if expired else (now - DAY, now + 9 * DAY)
        made = (x509.CertificateBuilder().subject_name(name).issuer_name(self.name)
                .public_key(public_key).serial_number(x509.random_serial_number())
                .not_valid_before(begin).not_valid_after(end)
                .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), True))
        if hosts:
            made = made.add_extension(
                x509.SubjectAlternativeName([_alternative(host) for host in hosts]), False)
            made = made.add_extension(x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False)
        return made.sign(self.key, hashes.SHA256())

    @staticmethod
    def _pem(certificate):
        return certificate.public_bytes(serialization.Encoding.PEM)

    def _write(self, name, content):
        file = self.folder / name
        other = self.folder / f"{name}.new"
        other.write_bytes(content)
        other.chmod(0o600)
        other.rename(file)
        return file
