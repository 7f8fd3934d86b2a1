// Checks a recording against a published head of its chain, without katod:
// node verify.mjs HEAD.json RECORDING.jsonl [KEY.pem]
// With a public key, also the signature of the head, which is beside it (HEAD.sig.cbor).
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const EVENT = Buffer.from('{"schema":"katod.event/');
const NAME = Buffer.from("katod.event/");
const OPENED = /^[\s\x1c-\x1f\x85]*\{/; // behind all that some program passes over

export function check(published, data) {
  if (published.chain !== "katod.event" || published.hash !== "sha-256") return "this is not the head of a chain";
  let head = Buffer.alloc(32);
  let count = 0;
  for (let at = 0; at < data.length && count < published.events; ) {
    let end = data.indexOf(10, at);
    if (end < 0) end = data.length;
    const line = data.subarray(at, end);
    if (line.subarray(0, EVENT.length).equals(EVENT) && !(line[line.length - 1] === 13 && end < data.length)) {
      head = createHash("sha256").update(head).update(line).digest();
      count += 1;
    } else if (line.includes(NAME) || OPENED.test(line.toString("utf8"))) {
      return "a line looks like an event, and is none";
    }
    at = end + 1;
  }
  if (count !== published.events) return "events are missing";
  return head.toString("hex") === published.head ? "" : "an event was changed, removed, added or moved";
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

function main(published, recording, key) {
  const data = readFileSync(published);
  const signature = key !== undefined && readFileSync(published.replace(/\.json$/, ".sig.cbor"));
  const isUnsigned = key !== undefined && !isSigned(data, signature, readFileSync(key));
  const wrong = isUnsigned ? "the head is not signed with this key" : check(JSON.parse(data), readFileSync(recording));
  console.log(wrong || `the first ${JSON.parse(data).events} events are as they were published`);
  if (!isUnsigned) console.log(`the signature of the head: ${key === undefined ? "not checked, as no key is given" : "made with this key"}`);
  process.exitCode = wrong ? 1 : 0;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    main(...process.argv.slice(2));
  } catch (error) {
    console.log(`cannot be checked: ${error.message}`);
    process.exitCode = 1;
  }
}
