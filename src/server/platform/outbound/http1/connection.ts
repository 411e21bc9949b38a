import type { Socket } from 'node:net';
import { errors } from '../undici-without-fetch.ts';
import type { ConnectionControl, Http1Request } from './http1-request.ts';
import { ResponseParser } from './response-parser.ts';
import { receiveFrom } from './socket-read-buffer.ts';

/** Told when a connection can take another request and when it is gone; one of both follows each request. */
export interface ConnectionOwner {
  freed(connection: Connection): void;
  lost(connection: Connection): void;
}

const KEEP_ALIVE_MS = 4_000;
const MAX_KEEP_ALIVE_MS = 600_000;
/** How much before the other side an idle connection is given up, so that no request meets the end of it. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const NOTHING = Buffer.alloc(0);

/** A connection that carries one request at a time: only so is it known of each whether it was sent. */
export class Connection implements ConnectionControl {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #parser = new ResponseParser();
  #current: Http1Request | undefined;
  /** What came behind the bytes a paused receiver has taken. */
  #unread: Buffer = NOTHING;
  #isParsing = false;
  #isClosed = false;
  /** The other side has ended it, which the present request, paused, is told when it goes on. */
  #hasEnded = false;
  /** When the request was written or the last bytes came, by `performance.now()` as all times here. */
  #lastActiveAt = 0;
  #idleUntil = performance.now() + KEEP_ALIVE_MS;

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    receiveFrom(socket, (bytes) => this.#receive(bytes));
    socket.on('end', () => this.#endByPeer());
    socket.on('error', (error) => this.close(error));
    socket.on('close', () => {
      if (!this.#hasEnded) this.close(new errors.SocketError('the connection was closed'));
    });
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  /** Whether a request may be sent on it: one that has been idle for long may be closed by the other side at any moment. */
  isUsable(now: number): boolean {
    return !this.#isClosed && now < this.#idleUntil;
  }

  /** Sends a request, unless its handler has given it up meanwhile. */
  send(request: Http1Request): void {
    const pieces = request.start(this);
    if (pieces === undefined) {
      this.#owner.freed(this);
      return;
    }
    if (this.#isClosed) {
      request.fail(new errors.ClientDestroyedError());
      return;
    }
    this.#current = request;
    this.#parser.begin();
    this.#lastActiveAt = performance.now();
    if (pieces.length > 1) this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    if (pieces.length > 1) this.#socket.uncork();
    request.written();
  }

  /** Ends what takes too long: a request without a response, a body that has stopped, a connection nobody has used. */
  sweep(now: number): void {
    const current = this.#current;
    if (current === undefined) {
      if (!this.isUsable(now)) this.close();
    } else if (!current.paused && now - this.#lastActiveAt > current.silenceMs)
      this.close(current.hasHead ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError());
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#lastActiveAt = performance.now();
    this.#socket.resume();
    // Called by the receiver of a chunk, it lets the parser go on by itself.
    if (!this.#isParsing) this.#parse(NOTHING);
  }

  /** Ends the connection, and with it the request under way, which fails for that reason. */
  close(reason: Error = new errors.InformationalError('the connection is not used again')): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const current = this.#current;
    this.#current = undefined;
    this.#socket.destroy();
    this.#owner.lost(this);
    current?.fail(reason);
  }

  #receive(bytes: Buffer): void {
    if (this.#current?.hasHead) this.#lastActiveAt = performance.now();
    // Nobody has asked for these bytes, so what comes next cannot be told from an answer either.
    if (this.#current === undefined) this.close();
    else this.#parse(bytes);
  }

  #parse(bytes: Buffer): void {
    const current = this.#current;
    if (current === undefined) return;
    const received = joined(this.#unread, bytes);
    this.#isParsing = true;
    try {
      this.#unread = this.#parser.parse(received, current);
    } catch (error) {
      this.close(error as Error);
    }
    this.#isParsing = false;
    if (this.#current === current && !current.paused && this.#parser.isComplete) this.#complete(current);
    if (this.#hasEnded && !current.paused) this.#endByPeer();
  }

  #endByPeer(): void {
    const current = this.#current;
    this.#hasEnded = current?.paused === true;
    if (this.#hasEnded) return;
    if (current !== undefined && this.#parser.endsWithConnection) this.#complete(current);
    else this.close(new errors.SocketError('the other side closed the connection'));
  }

  #complete(current: Http1Request): void {
    this.#current = undefined;
    const idleMs = this.#keptAliveMs();
    if (idleMs > 0 && !this.#hasEnded && this.#unread.length === 0 && this.#socket.writableLength === 0) {
      this.#idleUntil = performance.now() + idleMs;
      this.#owner.freed(this);
    } else this.close();
    current.end();
  }

  /** How long the connection may be idle from now on; none when it must not be used again. */
  #keptAliveMs(): number {
    const { keepsAlive, keepAliveHintMs } = this.#parser;
    if (!keepsAlive) return 0;
    if (keepAliveHintMs === undefined) return KEEP_ALIVE_MS;
    return Math.min(keepAliveHintMs - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
  }
}

/** Copies only where both have bytes: over TLS some may still come behind a pause. */
const joined = (first: Buffer, second: Buffer): Buffer => {
  if (first.length === 0) return second;
  return second.length === 0 ? first : Buffer.concat([first, second]);
};
