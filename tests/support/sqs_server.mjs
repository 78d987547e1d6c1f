// A stand-in for Amazon SQS: fauxqs, with its data in a folder. It listens on all addresses by
// itself, and here on this machine's alone.
import net from "node:net";
import { startFauxqs } from "fauxqs";

const [port, dataDir] = process.argv.slice(2);
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (options, ...rest) {
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...rest);
};
await startFauxqs({ port: Number(port), dataDir, logger: false });
