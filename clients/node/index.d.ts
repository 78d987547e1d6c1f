import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConnectionOptions } from 'node:tls';

export interface ConnectOptions {
  /** `unix:/run/onceguard/serve.sock`, `http://127.0.0.1:8090`, `https://…`. */
  url: string;
  /** A token of the service's `token_file`. */
  token?: string;
  /** For `https://…`: `ca`, `cert`, `key` and what else `tls.connect` takes. */
  tls?: ConnectionOptions;
  /** Run the work unguarded while the service is away, instead of refusing it. False without it. */
  open?: boolean;
  /** Milliseconds for a claim, besides its wait for a twin; 5000 without it. */
  timeout?: number;
  /** Milliseconds to wait for a running twin; without it as the policy has it. */
  wait?: number;
  /** The name that fingerprints of requests know this service by; without it that of the route. */
  service?: string;
}

export interface Options {
  /** A guarded request's body at most, in bytes; 1 MiB without it, as `max_request_body`. */
  maxRequestBody?: number;
  /** Whether this service has verified the `Authorization` of the request. */
  credentialVerified?: boolean | ((request: IncomingMessage) => boolean);
}

/** What work gets. Of work that is not guarded, only `guarded`. */
export interface Running {
  /** False: the request is not guarded, or the store is away and the policy is open. */
  readonly guarded: boolean;
  /** For `onceguard.complete(lease, …)` in a PostgreSQL transaction of one's own. */
  readonly lease?: string;
  /** Grows with each attempt: a database that keeps the highest one can refuse earlier attempts. */
  readonly token?: number;
  readonly attempt?: number;
  /** Aborts when the lease is lost: another attempt may begin. */
  readonly signal?: AbortSignal;
}

/** The same of a request, as `request.onceguard`. */
export interface RunningRequest extends Running {
  /** Says what the handler threw, where no adapter sees it. */
  failed(error: unknown): void;
}

export interface Operation {
  /** Whom the key belongs to. */
  scope: string;
  scope_kind?: string;
  /** 1 to 255 bytes. */
  key: string;
  /** What makes two operations the same. */
  fingerprint: string | Buffer;
  /** The name of a `[[policy]]` of the service, or options that it allows. */
  policy?: string | Record<string, unknown>;
  /** Milliseconds to wait for a running twin. */
  wait?: number;
  /** Shown to operators. */
  method?: string;
  path?: string;
}

type Next = (error?: unknown) => void;
type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void;
type ErrorMiddleware = (
  error: unknown, request: IncomingMessage, response: ServerResponse, next: Next) => void;
type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface Client {
  /**
   * Runs `work` once for its key. A repeat gets the result of the first call: what is no string,
   * Buffer or undefined goes through JSON. Rejects with `Refused` where the work was not run or
   * its result does not count, and with what the work threw.
   */
  execute<T>(operation: Operation, work: (running: Running) => T | Promise<T>): Promise<T>;
  /** A middleware for Express: before what parses bodies. */
  express(options?: Options): Middleware;
  /** For Express, behind the routes: what handlers throw ends their operations. */
  expressErrors(): ErrorMiddleware;
  /** A plugin for Fastify. */
  fastify(options?: Options): (app: any, options: unknown, done: (error?: Error) => void) => void;
  /** A listener for `http.createServer`. */
  listener(handle: Listener, options?: Options & { onError?: (error: unknown) => void }): Listener;
  /** An interceptor for NestJS: create the application with `rawBody: true`. */
  interceptor(options?: Options): { intercept(context: any, next: any): Promise<any> };
  /** Ends the connections that no operation has. */
  close(): void;
}

/** Makes a client; nothing is sent before its first claim. */
export function connect(options: ConnectOptions): Client;

/** For `verify` of express.json() and its like: the middleware may then stand behind them. */
export function keepRawBody(
  request: IncomingMessage, response: ServerResponse, bytes: Buffer): void;

/** Thrown by work that provably did nothing: the key is free again. */
export class NotDone extends Error {
  constructor(message?: string, options?: ErrorOptions);
}

/** Thrown by work that did nothing and may run again after `backoff` ms, or the policy's. */
export class TryLater extends Error {
  constructor(message?: string, options?: ErrorOptions & { backoff?: number });
  readonly backoff?: number;
}

/** The work was not run, or its result does not count. */
export class Refused extends Error {
  /** Why: `busy`, `backoff`, `mismatch`, `unknown`, `answer-not-kept`, `store-failed` … */
  readonly kind: string;
  /** What to do next, for a person. */
  readonly detail: string;
  /** May the same operation with the same key be asked for again? */
  readonly retryable: boolean;
  /** After so many milliseconds. */
  readonly retryAfter?: number;
  /** The status that fits it. */
  readonly status: number;
}

/** The service is away. `sent`: it may have heard the call. */
export class Unreachable extends Refused {
  readonly sent: boolean;
}

declare module 'node:http' {
  interface IncomingMessage {
    onceguard?: RunningRequest;
  }
}
