// A stand-in for Amazon SQS: fauxqs, with its data in a folder.
import net from "node:net";
import { startFauxqs } from "fauxqs";
// No part of what fauxqs exports.
import { PersistenceManager } from "../node_modules/fauxqs/dist/persistence.js";

const [port, dataDir] = process.argv.slice(2);

// fauxqs listens on all addresses.
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (options, ...rest) {
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...rest);
};

// fauxqs 2.4.1 fails here, and loses the message: it writes NULL for the count of receipts.
PersistenceManager.prototype.updateMessageReady = function (id) {
  this.db
    .prepare(
      "UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL " +
        "WHERE message_id = ?",
    )
    .run(id);
};

// A kill loses nothing without it, and each request waits for the disk with it.
const { load } = PersistenceManager.prototype;
PersistenceManager.prototype.load = function (...stores) {
  this.db.exec("PRAGMA synchronous = OFF");
  return load.apply(this, stores);
};

await startFauxqs({ port: Number(port), dataDir, logger: false });
