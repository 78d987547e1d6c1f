// Holds Kubernetes objects to the schemas of Kubernetes and of the Prometheus operator, from npm.
// Input: a line of JSON each; output: a JSON list of complaints each.
import { createInterface } from "node:readline";

const PACKAGES = ["kubernetes-models", "@kubernetes-models/prometheus-operator"];

async function modelOf({ apiVersion, kind }) {
  for (const name of PACKAGES) {
    try {
      return (await import(`${name}/${apiVersion}/${kind}`))[kind];
    } catch (error) {
      if (!["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"].includes(error.code)) {
        throw error;
      }
    }
  }
  throw new Error(`no schema of ${apiVersion} ${kind}`);
}

// The schemas let unknown fields pass. A field that the validator never reads is one.
function watched(value, path, unread) {
  if (value === null || typeof value !== "object") return value;
  const copy = Array.isArray(value) ? [] : {};
  for (const [name, inner] of Object.entries(value)) {
    const at = `${path}/${name}`;
    const seen = watched(inner, at, unread);
    unread.add(at);
    Object.defineProperty(copy, name, {
      enumerable: true,
      get: () => {
        unread.delete(at);
        return seen;
      },
    });
  }
  return copy;
}

async function complaintsOf(object) {
  const Model = await modelOf(object);
  const unread = new Set();
  const model = new Model();
  const spied = watched(object, "", unread);
  for (const name of Object.keys(object)) {
    Object.defineProperty(model, name, { enumerable: true, value: spied[name] });
  }
  try {
    model.validate();
  } catch (error) {
    return [error.message];
  }
  // What is below an unknown field is not read either.
  return [...unread].filter((at) => ![...unread].some((up) => at.startsWith(`${up}/`)))
    .map((at) => `${at}: there is no such field`);
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await complaintsOf(JSON.parse(line))));
}
