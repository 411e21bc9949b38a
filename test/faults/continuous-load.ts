import { setTimeout as pause } from 'node:timers/promises';
import { chatBody } from '../chat/chat-fixture.ts';
import { VIDEO_MODELS } from './submit-steps.ts';

/** Pause between two requests of one caller. */
const PAUSE_MS = 20;

/** Clients without retries that reuse their connections, as `fetch` does. */
export class ContinuousLoad {
  readonly #key: string;
  readonly failures: string[] = [];
  sent = 0;
  streams = 0;
  /** Prompts of the videos whose submit was answered. */
  readonly videos: string[] = [];
  /** True while the only process is being replaced: requests that find no server then do not count as failures. */
  isReplaced = false;
  refused = 0;
  isOver = false;

  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Sends requests sequentially until the load is stopped.
   * @param caller distinguishes the prompts of several callers
   */
  async run(baseUrl: string, caller: string): Promise<void> {
    for (let n = 0; !this.isOver; n += 1) {
      await this.#request(baseUrl, `${caller} ${n}`, n);
      await pause(PAUSE_MS);
    }
  }

  /** Sends one request of each kind in turn; a stream takes a second. */
  async #request(baseUrl: string, label: string, n: number): Promise<void> {
    const isStream = n % 10 === 4;
    const isVideo = n % 10 === 9;
    const kinds = {
      list: ['GET', '/v1/videos', undefined],
      chat: ['POST', '/v1/chat/completions', chatBody(label)],
      stream: ['POST', '/v1/chat/completions', chatBody(`${label} [chunks=20] [delay=50]`, { stream: true })],
      video: ['POST', '/v1/videos', { model: VIDEO_MODELS.kling, prompt: label }],
    } as const;
    const kind = isStream ? 'stream' : isVideo ? 'video' : n % 2 === 0 ? 'list' : 'chat';
    const [method, path, body] = kinds[kind];
    this.sent += 1;
    if (isStream) this.streams += 1;
    const at = new Date().toISOString();
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 200) this.failures.push(`${at} ${kind} ${label}: ${response.status} ${text}`);
      else if (isVideo) this.videos.push(label);
      else if (isStream && !text.endsWith('data: [DONE]\n\n'))
        this.failures.push(`${at} ${label}: cut ${text.slice(-80)}`);
    } catch (error) {
      if (this.isReplaced) this.refused += 1;
      else this.failures.push(`${at} ${kind} ${label}: ${String((error as Error).cause ?? error)}`);
    }
  }
}
