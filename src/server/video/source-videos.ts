import { buffer } from 'node:stream/consumers';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type ContentDelivery, type PlayLinks, VENDOR_CREDENTIAL } from './content.ts';
import type { FindInputFile, InputFile, InputOwner } from './input-resolver.ts';
import type { Task, TaskStore } from './task-store.ts';

interface SourceVideosDependencies {
  readonly store: Pick<TaskStore, 'findForToken' | 'findForUser'>;
  readonly contentDelivery: Pick<ContentDelivery, 'open'>;
  readonly playLinks: Pick<PlayLinks, 'create'>;
  readonly clock: Clock;
  /** Base URL of this service. */
  readonly baseUrl: string;
}

/** Videos made here, as inputs of other videos. */
export class SourceVideos {
  readonly #dependencies: SourceVideosDependencies;
  constructor(dependencies: SourceVideosDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `task_not_completed` */
  readonly find: FindInputFile = async (id, owner) => {
    const task = await this.#findTask(id, owner);
    return task === undefined ? undefined : this.#open(task);
  };

  #findTask(id: string, { userId, tokenId }: InputOwner): Promise<Task | undefined> {
    const { store } = this.#dependencies;
    return tokenId === undefined ? store.findForUser(id, userId) : store.findForToken(id, tokenId);
  }

  /** The whole file, because its length counts for every price. */
  async #open(task: Task): Promise<InputFile> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const { contentDelivery, playLinks, clock, baseUrl } = this.#dependencies;
    const content = await contentDelivery.open(task, {
      signal: AbortSignal.timeout(LOAD_TIMEOUT_MS),
      watchAccess: () => () => undefined,
    });
    const bytes = await buffer(content.body);
    return {
      mediaType: 'video/mp4',
      size: bytes.length,
      key: task.id,
      task,
      load: async () => bytes,
      address: async () => baseUrl + playLinks.create(task.public_id, VENDOR_CREDENTIAL, clock.now()),
    };
  }
}

const LOAD_TIMEOUT_MS = 120_000;
