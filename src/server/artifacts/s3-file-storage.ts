import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';
import type { S3Client, S3Request } from './s3-client.ts';

/** Copies as objects of an S3 bucket. */
export class S3FileStorage implements ArtifactFileStorage {
  readonly #client: S3Client;
  readonly #prefix: string;

  /** @param prefix before the ids; may be empty */
  constructor(client: S3Client, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  async put(id: string, path: string, { bytes, sha256 }: { bytes: number; sha256: string }): Promise<void> {
    // S3 compares what arrives with the hash, and refuses it otherwise.
    const headers = { 'content-length': String(bytes), 'x-amz-content-sha256': sha256 };
    await this.#run({ method: 'PUT', key: this.#prefix + id, headers, body: createReadStream(path) });
    await rm(path, { force: true });
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    const headers = { range: `bytes=${start}-${end}` };
    const response = await this.#client.send({ method: 'GET', key: this.#prefix + id, headers });
    return response?.body;
  }

  async size(id: string): Promise<number | undefined> {
    const response = await this.#client.send({ method: 'HEAD', key: this.#prefix + id });
    response?.body.destroy();
    return response === undefined ? undefined : Number(response.headers['content-length']);
  }

  async remove(id: string): Promise<void> {
    await this.#run({ method: 'DELETE', key: this.#prefix + id });
  }

  async *list(): AsyncGenerator<{ id: string; changedAt: number }[]> {
    for (let token: string | undefined = ''; token !== undefined; ) {
      const query: Record<string, string> = { 'list-type': '2', prefix: this.#prefix };
      if (token !== '') query['continuation-token'] = token;
      const page: string = await this.#run({ method: 'GET', key: '', query });
      yield this.#read(page);
      token = elementOf(page, 'NextContinuationToken');
    }
  }

  /** The provider bounds nothing here. */
  async freeBytes(): Promise<undefined> {
    return undefined;
  }

  /** Ids are letters and digits, so that nothing in the answer is escaped; keys of others are left alone. */
  #read(page: string): { id: string; changedAt: number }[] {
    return (page.match(/<Contents>.*?<\/Contents>/gs) ?? []).flatMap((entry) => {
      const id = (elementOf(entry, 'Key') ?? '').slice(this.#prefix.length);
      const changedAt = Date.parse(elementOf(entry, 'LastModified') ?? '');
      return /^[A-Za-z0-9_-]{24}$/.test(id) && !Number.isNaN(changedAt) ? [{ id, changedAt }] : [];
    });
  }

  async #run(request: S3Request): Promise<string> {
    const response = await this.#client.send(request);
    return response === undefined ? '' : text(response.body);
  }
}

const elementOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
