import { connect, type Socket } from 'node:net';
import type { Listener } from './seed-notifications.ts';

/** A minimal stream client: keeps only the last 2,000 characters to find the event it waits for. */
export class NotificationStreamClient {
  readonly socket: Socket;
  #tail = '';
  #wanted = '';
  #heard: (() => void) | undefined;

  constructor(port: number, { userId, token }: Listener) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('utf8').on('error', () => {});
    this.socket.on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-2_000);
      if (this.#wanted !== '' && this.#tail.includes(this.#wanted)) this.#heard?.();
    });
    this.socket.write(
      `GET /api/notifications/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nService-Api-User: ${userId}\r\n\r\n`,
    );
  }

  received(wanted: string): Promise<void> {
    if (this.#tail.includes(wanted)) return Promise.resolve();
    this.#wanted = wanted;
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }
}
