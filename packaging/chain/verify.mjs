// Checks a recording against a published head of its chain, without katod:
// node verify.mjs HEAD.json RECORDING.jsonl [KEY.pem]
// With a public key, also the signature of the head, which is beside it (HEAD.sig.cbor).
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const EVENT = Buffer.from('{"schema":"katod.event/');

export function headAfter(data, events) {
  let head = Buffer.alloc(32);
  let count = 0;
  for (let at = 0; at < data.length && count < events; ) {
    let end = data.indexOf(10, at);
    if (end < 0) end = data.length;
    const line = data.subarray(at, end);
    if (line.subarray(0, EVENT.length).equals(EVENT)) {
      head = createHash("sha256").update(head).update(line).digest();
      count += 1;
    }
    at = end + 1;
  }
  return count === events ? head.toString("hex") : null;
}

export function check(published, data) {
  const found = headAfter(data, published.events);
  if (found === null) return "events are missing";
  return found === published.head ? "" : "an event was changed, removed, added or moved";
}

function bytes(content) {
  const size = content.length;
  const head = size < 24 ? [0x40 + size] : size < 256 ? [0x58, size] : [0x59, size >> 8, size & 255];
  return Buffer.concat([Buffer.from(head), content]);
}

function readBytes(cbor, at) {
  const kind = cbor[at] - 0x40;
  const wide = kind === 24 ? 1 : kind === 25 ? 2 : 0;
  const size = wide ? cbor.readUIntBE(at + 1, wide) : kind;
  const from = at + 1 + wide;
  return [cbor.subarray(from, from + size), from + size];
}

function isSigned(data, cbor, pem) {
  if (cbor[0] !== 0xd2 || cbor[1] !== 0x84) return false; // COSE_Sign1: tag 18, four parts
  const [protectedPart, at] = readBytes(cbor, 2);
  if (cbor[at] !== 0xa0 || cbor[at + 1] !== 0xf6) return false; // nothing unprotected, nothing in it
  const [value] = readBytes(cbor, at + 2);
  const name = Buffer.from("Signature1");
  const message = [Buffer.from([0x84, 0x60 + name.length]), name, bytes(protectedPart), bytes(Buffer.alloc(0)), bytes(data)];
  return verify(null, Buffer.concat(message), createPublicKey(pem), value);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [published, recording, key] = process.argv.slice(2);
  const data = readFileSync(published);
  const signature = key && readFileSync(published.replace(/\.json$/, ".sig.cbor"));
  let wrong = key && !isSigned(data, signature, readFileSync(key)) ? "the head is not signed with this key" : "";
  wrong ||= check(JSON.parse(data), readFileSync(recording));
  console.log(wrong || `the first ${JSON.parse(data).events} events are as they were published`);
  process.exitCode = wrong ? 1 : 0;
}
