'use strict';
const { createHash } = require('node:crypto');

const LEFT_OUT = new Set(['content-length', 'transfer-encoding']);

/** A body over the limit. */
class TooLarge extends Error {}

/** Removes what only Onceguard may say to a handler. */
function dropReserved(request) {
  const raw = request.rawHeaders;
  for (let at = raw.length - 2; at >= 0; at -= 2) {
    if (/^onceguard[-_]/i.test(raw[at])) raw.splice(at, 2);
  }
  for (const name of Object.keys(request.headers)) {
    if (/^onceguard[-_]/.test(name)) delete request.headers[name];
  }
}

function addFields(request, fields = []) {
  for (const [name, value] of fields) {
    request.headers[name.toLowerCase()] = value;
    request.rawHeaders.push(name, value);
  }
}

/** The request as a claim describes it. */
function described(request, { credentialVerified = false }) {
  const headers = [];
  const raw = request.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) {
    if (!LEFT_OUT.has(raw[at].toLowerCase())) headers.push([raw[at], raw[at + 1]]);
  }
  const target = (request.originalUrl ?? request.url).replace(/^https?:\/\/[^/?#]*/i, '');
  const out = { method: request.method, target: target.startsWith('/') || target === '*' ? target : `/${target}`, headers };
  const { remoteAddress, authorized } = request.socket;
  if (remoteAddress) out.client_address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  const certificate = authorized ? request.socket.getPeerCertificate().raw : undefined;
  if (certificate) out.client_certificate = createHash('sha256').update(certificate).digest('hex');
  if (typeof credentialVerified === 'function' ? credentialVerified(request) : credentialVerified) {
    out.credential_verified = true;
  }
  return out;
}

/** The raw body, which is there for others afterwards; null where the client left before its end. */
function rawBody(request, given, limit) {
  if (given !== undefined && given !== null) {
    const bytes = Buffer.from(given);
    return bytes.length > limit ? Promise.reject(new TooLarge()) : Promise.resolve(bytes);
  }
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && Number(length ?? 0) === 0) {
    return Promise.resolve(Buffer.alloc(0));
  }
  if (request.readableDidRead || request.readableEnded) {
    return Promise.reject(new Error('onceguard: the body was read before. Put the middleware before '
      + 'express.json() and its like, or let them keep it: express.json({ verify: keepRawBody })'));
  }
  if (Number(length) > limit) return Promise.reject(new TooLarge());
  return new Promise((resolve, reject) => {
    const pieces = [];
    let size = 0;
    const end = (settle, value) => {
      request.off('readable', readable).off('error', left).off('close', left);
      settle(value);
    };
    const left = () => end(resolve, null);
    const readable = () => {
      // Never a read() that finds nothing: at the end it would end the stream for those who come later.
      while (request.readableLength > 0) {
        const piece = request.read();
        pieces.push(piece);
        size += piece.length;
      }
      if (size > limit) return end(reject, new TooLarge());
      if (!request.complete) return undefined;
      const body = Buffer.concat(pieces);
      if (size) request.unshift(body);
      return end(resolve, body);
    };
    if (request.complete) readable();
    else request.on('readable', readable).on('error', left).on('close', left);
  });
}

/** For body-parser's `verify`: the middleware may then stand behind it. Packed bodies are not kept. */
function keepRawBody(request, response, bytes) {
  if ((request.headers['content-encoding'] ?? 'identity') === 'identity') request.rawBody = bytes;
}

module.exports = { TooLarge, addFields, described, dropReserved, keepRawBody, rawBody };
