"""An administration function (ADMF) that speaks X1, written from TS 103 221-1 and not from ringtap's code.

  x1_client.py URL CA CERTIFICATE KEY ADMF NE before|after HI2

`before` provisions a task and everything around it; `after` follows its approval and ends it. Each answer is checked;
where RINGTAP_X1_SCHEMA names the file of the standard's schema, beside that of TS 103 280, each request and each answer
is validated against it by lxml as well.
"""

import datetime
import http.client
import os
import ssl
import sys
import urllib.parse
import uuid
from xml.etree import ElementTree

X1 = "http://uri.etsi.org/03221/X1/2017/10"
COMMON = "http://uri.etsi.org/03280/common/2017/07"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
XID = "5ae9a8d4-6b5e-4c5a-9d1f-2f3f5b3f8a01"
DID = "0d4c8c52-07c5-4f83-8e0e-5f6a2a5d2b11"
LIID = "LI-X1-17"
ElementTree.register_namespace("x", X1)
ElementTree.register_namespace("common", COMMON)
ElementTree.register_namespace("xsi", XSI)


def schema():
    path = os.environ.get("RINGTAP_X1_SCHEMA")
    if not path:
        return None
    from lxml import etree

    return etree.XMLSchema(etree.parse(path))


SCHEMA = schema()
checked = 0


def valid(body):
    global checked
    checked += 1
    if SCHEMA is not None:
        from lxml import etree

        SCHEMA.assertValid(etree.fromstring(body))


def stamp(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def node(parent, name, text=None, namespace=X1):
    element = ElementTree.SubElement(parent, f"{{{namespace}}}{name}")
    element.text = text
    return element


class Admf:
    def __init__(self, url, authority, certificate, key, admf, ne):
        self.url = urllib.parse.urlsplit(url)
        self.context = ssl.create_default_context(cafile=authority)
        self.context.load_cert_chain(certificate, key)
        self.admf, self.ne = admf, ne

    def post(self, body):
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.context, timeout=30)
        connection.request("POST", self.url.path, body, {"Content-Type": "text/xml"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, (answer.status, text)
        assert answer.headers["Content-Type"].startswith("text/xml"), answer.headers
        return text

    def request(self, kinds):
        """A request with a message for each (kind, what fills it)."""
        root = ElementTree.Element(f"{{{X1}}}X1Request")
        transactions = []
        for kind, fill in kinds:
            message = node(root, "x1RequestMessage")
            message.set(f"{{{XSI}}}type", f"x:{kind}Request")
            node(message, "admfIdentifier", self.admf)
            node(message, "neIdentifier", self.ne)
            node(message, "messageTimestamp", stamp(datetime.datetime.now(datetime.timezone.utc)))
            node(message, "version", "v1.13.1")
            transactions.append(str(uuid.uuid4()))
            node(message, "x1TransactionId", transactions[-1])
            fill(message)
        return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True), transactions

    def ask(self, *kinds):
        """The answers, as (type, element)."""
        body, transactions = self.request(kinds)
        valid(body)
        text = self.post(body)
        valid(text)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{{{X1}}}X1Response", text
        answers = []
        for message, transaction in zip(root, transactions, strict=True):
            assert message.findtext(f"{{{X1}}}x1TransactionId") == transaction, text
            assert message.findtext(f"{{{X1}}}admfIdentifier") == self.admf, text
            assert message.findtext(f"{{{X1}}}neIdentifier") == self.ne, text
            answers.append((message.get(f"{{{XSI}}}type").rsplit(":", 1)[-1], message))
        return answers

    def one(self, kind, fill=lambda message: None):
        [(answered, message)] = self.ask((kind, fill))
        assert answered == f"{kind}Response", ElementTree.tostring(message)
        return message

    def done(self, kind, fill=lambda message: None, told="AcknowledgedAndCompleted"):
        assert self.one(kind, fill).findtext(f"{{{X1}}}oK") == told, kind

    def refused(self, kind, fill, code):
        [(answered, message)] = self.ask((kind, fill))
        text = ElementTree.tostring(message)
        assert answered == "ErrorResponse", text
        assert message.findtext(f"{{{X1}}}requestMessageType") == kind, text
        assert message.findtext(f"{{{X1}}}errorInformation/{{{X1}}}errorCode") == str(code), text

    def status(self):
        details = self.one("GetTaskDetails", xid)
        path = f"{{{X1}}}taskResponseDetails/{{{X1}}}taskStatus/{{{X1}}}provisioningStatus"
        return details.findtext(path)


def xid(message):
    node(message, "xId", XID)


def did(message):
    node(message, "dId", DID)


def destination(address, port, delivery="X2andX3"):
    def fill(message):
        details = node(message, "destinationDetails")
        node(details, "dId", DID)
        node(details, "friendlyName", "mediation of agency A")
        node(details, "deliveryType", delivery)
        at = node(node(details, "deliveryAddress"), "ipAddressAndPort")
        node(node(at, "address", namespace=COMMON), "IPv4Address", address, COMMON)
        node(node(at, "port", namespace=COMMON), "TCPPort", port, COMMON)

    return fill


def task(identifier=("e164Number", "441632960203"), delivery="X2andX3", mediated="HI2andHI3", end="2100-01-01"):
    def fill(message):
        details = node(message, "taskDetails")
        node(details, "xId", XID)
        name, value = identifier
        chosen = node(node(details, "targetIdentifiers"), "targetIdentifier")
        if isinstance(value, tuple):
            node(node(chosen, name), *value, COMMON)
        else:
            node(chosen, name, value)
        node(details, "deliveryType", delivery)
        node(node(details, "listOfDIDs"), "dId", DID)
        mediation = node(node(details, "listOfMediationDetails"), "mediationDetails")
        node(mediation, "LIID", LIID)
        node(mediation, "deliveryType", mediated)
        node(mediation, "StartTime", "2020-01-01T00:00:00.000000Z")
        if end:
            node(mediation, "EndTime", f"{end}T00:00:00.000000Z")
        node(details, "implicitDeactivationAllowed", "false")

    return fill


IDENTIFIERS = (
    ("imsi", "234150999999999"),
    ("imei", "35152304010184"),
    ("macAddress", "02:00:5e:10:00:01"),
    ("ipv4Address", "203.0.113.7"),
    ("ipv6Address", "2001:0db8:0000:0000:0000:0000:0000:0007"),
    ("ipv4Cidr", ("IPv4CIDR", "203.0.113.0/24")),
    ("ipv6Cidr", "2001:0db8:0000:0000:0000:0000:0000:0000/56"),
    ("sipUri", "sip:alice@example.org"),
    ("telUri", "tel:+441632960203"),
    ("nai", "alice@example.org"),
    ("radiusAttribute", "0107416c696365"),
)


def identified(admf):
    """Each identifier is shown as it was sent."""
    for name, value in IDENTIFIERS:
        admf.done("ActivateTask", task((name, value)), "Acknowledged")
        details = admf.one("GetTaskDetails", xid)
        found = next(details.iter(f"{{{X1}}}targetIdentifier"))
        [shown] = found
        assert shown.tag == f"{{{X1}}}{name}", ElementTree.tostring(found)
        if isinstance(value, tuple):
            [inner] = shown
            assert (inner.tag, inner.text) == (f"{{{COMMON}}}{value[0]}", value[1]), ElementTree.tostring(found)
        else:
            assert shown.text == value, ElementTree.tostring(found)
        admf.done("DeactivateTask", xid)


def before(admf, address, port):
    admf.done("Ping")
    admf.done("Keepalive")
    assert admf.one("GetNEStatus").findtext(f"{{{X1}}}neStatusDetails/{{{X1}}}neStatus") == "OK"
    admf.refused("GetTaskDetails", xid, 2020)
    admf.refused("ActivateTask", task(), 2040)
    admf.refused("CreateDestination", destination("203.0.113.99", port), 6000)
    admf.done("CreateDestination", destination(address, port))
    admf.refused("CreateDestination", destination(address, port), 2030)
    admf.refused("ActivateTask", task(end=None), 3000)
    admf.refused("ActivateTask", task(("tcpPort", "5060")), 3010)
    admf.refused("ActivateTask", task(mediated="HI2Only"), 3040)
    admf.done("ActivateTask", task(), "Acknowledged")
    admf.refused("ActivateTask", task(), 2010)
    assert admf.status() == "awaitingProvisioning"


def after(admf, address, port):
    assert admf.status() == "complete"
    details = admf.one("GetTaskDetails", xid)
    known = f"{{{X1}}}taskResponseDetails/{{{X1}}}taskDetails/"
    target = f"{known}{{{X1}}}targetIdentifiers/{{{X1}}}targetIdentifier/{{{X1}}}e164Number"
    assert details.findtext(target) == "441632960203"
    mediation = f"{known}{{{X1}}}listOfMediationDetails/{{{X1}}}mediationDetails/"
    assert details.findtext(f"{mediation}{{{X1}}}LIID") == LIID
    assert details.findtext(f"{mediation}{{{X1}}}EndTime") == "2100-01-01T00:00:00.000000Z"
    found = admf.one("GetDestinationDetails", did)
    status = f"{{{X1}}}destinationResponseDetails/{{{X1}}}destinationStatus/{{{X1}}}destinationDeliveryStatus"
    assert found.findtext(status) == "activeAndWorking"
    for kind, what in (("GetAllTaskDetails", "taskResponseDetails"), ("GetAllDestinationDetails", "destinationResponseDetails"),
                       ("GetAllDetails", "taskResponseDetails"), ("ListAllDetails", "xId")):
        assert len(list(admf.one(kind).iter(f"{{{X1}}}{what}"))) == 1, kind
    assert len(admf.one("GetAllGenericObjectDetails")) == 5
    # More waits, and what is approved goes on.
    admf.done("ModifyTask", task(end="2101-01-01"), "Acknowledged")
    assert admf.status() == "awaitingProvisioning"
    # Less counts at once, in place of what waited.
    admf.done("ModifyTask", task(delivery="X2Only", mediated="HI2Only"))
    admf.refused("RemoveDestination", did, 7010)
    admf.refused("RemoveAllDestinations", lambda message: None, 8010)
    admf.refused("CreateObject", lambda message: node(message, "createObject"), 1080) if SCHEMA is None else None
    answers = admf.ask(("Ping", lambda message: None), ("DeactivateTask", xid), ("DeactivateTask", xid))
    assert [kind for kind, _ in answers] == ["PingResponse", "DeactivateTaskResponse", "ErrorResponse"], answers
    admf.done("DeactivateAllTasks")
    identified(admf)
    admf.done("RemoveDestination", did)
    admf.refused("RemoveDestination", did, 2040)
    admf.done("RemoveAllDestinations")
    text = admf.post(b"<no request/>")
    valid(text)
    assert ElementTree.fromstring(text).tag == f"{{{X1}}}X1TopLevelErrorResponse", text


def main():
    *where, phase, function = sys.argv[1:]
    admf = Admf(*where)
    {"before": before, "after": after}[phase](admf, *function.split(":"))
    print(f"{phase}: {checked} documents" + (", each valid" if SCHEMA else ""))


if __name__ == "__main__":
    main()
