import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ExpressionBuilder, ExpressionWrapper, Selectable, SqlBool } from 'kysely';
import {
  FILE_LIFETIME_SECONDS,
  FILE_PURPOSES,
  type FilePurpose,
  MAX_FILENAME_LENGTH,
} from '../../contract/file-purposes.ts';
import type { FileObject } from '../../contract/files.ts';
import { defined } from '../../contract/objects.ts';
import { openAiList } from '../../contract/responses.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Artifacts } from '../artifacts/module.ts';
import type { ReceivedFile } from '../artifacts/upload-storage.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Owner, RequestContext } from '../platform/http/route-registry.ts';
import { BadVideoError, VideoCheck } from '../platform/media.ts';
import { sniffMedia } from '../platform/media-length.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import { createSigner, newTimedId, type Signer, timeOfId } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';

/** Kind of a file, detected from its content. */
type FileKind = 'image' | 'audio' | 'video' | 'jsonl';

/** Largest file of each kind, bytes. */
type FileLimits = Readonly<Record<FileKind, number>>;

const MB = 1024 ** 2;

/** The limits of the site's settings. */
export const toFileLimits = (
  site: Pick<SiteSettings, 'filesImageMb' | 'filesAudioMb' | 'filesVideoMb' | 'filesJsonlMb'>,
): FileLimits => ({
  image: site.filesImageMb * MB,
  audio: site.filesAudioMb * MB,
  video: site.filesVideoMb * MB,
  jsonl: site.filesJsonlMb * MB,
});

interface FileType {
  readonly kind: FileKind;
  readonly mimeType: string;
}

/** Bytes that identify every type. */
const HEAD_BYTES = 64;

/** A line of JSONL, perhaps behind a byte order mark and blanks. */
const JSONL = /^(?:\u00ef\u00bb\u00bf)?\s*\{/;

/** The type of a file by its first bytes; undefined: none that is taken here. */
function typeOf(head: Buffer): FileType | undefined {
  const media = sniffMedia(head);
  // The document type of EBML (RFC 8794 section 11.2.7): no vendor takes Matroska's others.
  if (media?.mediaType === 'video/webm' && !head.includes('webm')) return undefined;
  if (media !== undefined) return { kind: media.type, mimeType: media.mediaType };
  return JSONL.test(head.toString('latin1')) ? { kind: 'jsonl', mimeType: 'application/jsonl' } : undefined;
}

const CONTAINERS = new Set(['video/mp4', 'video/quicktime', 'video/webm', 'audio/mp4']);

const refusal = (detail: string): AppError => invalidRequest(detail, 'file');

/** Checks an uploaded file while its bytes pass through: type, size, and the completeness of videos and texts. */
class FileCheck {
  readonly #limits: FileLimits;
  #head = Buffer.alloc(0);
  #type: FileType | undefined;
  #video: VideoCheck | undefined;
  #text: TextDecoder | undefined;
  #bytes = 0;

  constructor(limits: FileLimits) {
    this.#limits = limits;
  }

  /** @throws AppError `invalid_request` as soon as the defect is certain */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#type === undefined) {
      this.#head = Buffer.concat([this.#head, chunk]);
      if (this.#head.length >= HEAD_BYTES) this.#begin();
    } else this.#inspect(chunk, this.#type);
  }

  /** Must be called after the last byte. */
  end(): FileType {
    if (this.#bytes === 0) throw refusal('file is empty.');
    const found = this.#type ?? this.#begin();
    this.#within(() => {
      this.#video?.end();
      this.#text?.decode();
    });
    return found;
  }

  #begin(): FileType {
    const found = typeOf(this.#head);
    if (found === undefined)
      throw refusal(
        'file must be an image (PNG, JPEG, WebP, GIF, BMP, TIFF), a video (MP4, MOV, WebM), a sound (MP3, WAV, M4A, OGG) or JSONL.',
      );
    this.#type = found;
    if (CONTAINERS.has(found.mimeType)) this.#video = new VideoCheck();
    if (found.kind === 'jsonl') this.#text = new TextDecoder('utf-8', { fatal: true });
    this.#inspect(this.#head, found);
    return found;
  }

  #inspect(bytes: Buffer, { kind }: FileType): void {
    const most = this.#limits[kind];
    if (this.#bytes > most) throw refusal(`file is larger than ${most / MB} MB, the most for ${KIND_NAMES[kind]}.`);
    this.#within(() => {
      this.#video?.push(bytes);
      this.#text?.decode(bytes, { stream: true });
    });
  }

  #within(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (error instanceof BadVideoError) throw refusal(`file is not complete or damaged: ${error.message}.`);
      // What a decoder throws for bytes that are no UTF-8 (WHATWG Encoding, section 7.2).
      if (error instanceof TypeError) throw refusal('file is JSONL but not UTF-8.');
      throw error;
    }
  }
}

const KIND_NAMES: Readonly<Record<FileKind, string>> = {
  image: 'an image',
  audio: 'a sound',
  video: 'a video',
  jsonl: 'JSONL',
};

/** A row of `files`. */
type FileRow = Selectable<Tables['files']>;

/** A file with the user name of the member who uploaded it; null for a file of an account. */
type AuthoredFile = FileRow & { readonly author: string | null };

/** Which files a list shows. */
interface FileFilter {
  readonly purpose: FilePurpose | 'batch_output' | undefined;
  /** Id of the last file of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Files of batches hold prompts and answers: members of an organization have only their own. */
const ID_PREFIX = 'file-';
const OF_BATCHES = ['batch', 'batch_output'] as const;
const isOwn =
  ({ userId, actorId }: Owner) =>
  (eb: ExpressionBuilder<Tables, 'files'>): ExpressionWrapper<Tables, 'files', SqlBool> => {
    const isOfOwner = eb('user_id', '=', userId);
    if (actorId === undefined) return isOfOwner;
    return eb.and([isOfOwner, eb.or([eb('purpose', 'not in', OF_BATCHES), eb('actor_id', '=', actorId)])]);
  };

/** SQL of `files`. Expired rows are invisible before they are deleted. */
class FileStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, row: FileRow): Promise<void> {
    await trx.insertInto('files').values(row).execute();
  }

  /** Without expired files, which their owner can neither see nor delete. */
  async count(userId: number, now: number): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('files')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('user_id', '=', userId)
      .where('expires_at', '>', now)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  find(owner: Owner, id: string, now: number): Promise<AuthoredFile | undefined> {
    return this.#visible(now).where('id', '=', id).where(isOwn(owner)).executeTakeFirst();
  }

  findById(id: string, now: number): Promise<FileRow | undefined> {
    return this.#visible(now).where('id', '=', id).executeTakeFirst();
  }

  async list(owner: Owner, now: number, { purpose, after, limit, order }: FileFilter): Promise<AuthoredFile[]> {
    let query = this.#visible(now).where(isOwn(owner));
    if (purpose !== undefined) query = query.where('purpose', '=', purpose);
    if (after !== undefined) {
      // Programs list files in order to delete them, so that the last file of a page may be gone.
      const time = timeOfId(ID_PREFIX, after) ?? (await this.find(owner, after, now))?.created_at;
      if (time === undefined) return [];
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), order === 'asc' ? '>' : '<', tuple(time, after)),
      );
    }
    return query.orderBy('created_at', order).orderBy('id', order).limit(limit).execute();
  }

  /** @returns false if there is no such file, or not of that member */
  async delete(trx: Trx, id: string, authorId?: number): Promise<boolean> {
    const query = trx.deleteFrom('files').where('id', '=', id);
    return wasChanged(
      await (authorId === undefined ? query : query.where('actor_id', '=', authorId)).executeTakeFirst(),
    );
  }

  async deleteEnded(now: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('files').where('expires_at', '<=', now).execute();
    await kysely
      .deleteFrom('files')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('accounts')
            .select('accounts.id')
            .whereRef('accounts.id', '=', 'files.user_id')
            .where('accounts.removed_at', 'is not', null),
        ),
      )
      .execute();
  }

  #visible(now: number) {
    return this.#database.kysely
      .selectFrom('files')
      .selectAll()
      .select((row) =>
        row.selectFrom('accounts').select('username').whereRef('accounts.id', '=', 'files.actor_id').as('author'),
      )
      .where('expires_at', '>', now);
  }
}

interface FileServiceDependencies {
  readonly database: Database<Tables>;
  readonly artifacts: Artifacts;
  /** Read for each upload, because administrators change them. */
  readonly limits: () => FileLimits;
  readonly masterKey: Buffer;
  /** Address of this service, for vendors that fetch their inputs. */
  readonly baseUrl: string;
  readonly clock: Clock;
}

/** Maximum files of one account, far above a month's usual number; bounds its lists. */
const MAX_FILES = 10_000;
const DEFAULT_LIFETIME_MS = 30 * DAY_MS;
/** Vendors fetch an input while they accept the job, or while it waits in their queue. */
const FETCH_LIFETIME_MS = HOUR_MS;
const CHUNK_LENGTH = 256 * 1024;
/** An open transfer notices within this time that its file was deleted. */
const RECHECK_MS = 800;

/** Uploaded files of accounts (OpenAI's Files API). Every key of an account sees them; another account's are 404. */
export class FileService {
  readonly #dependencies: FileServiceDependencies;
  readonly #store: FileStore;
  readonly #links: FileLinks;

  constructor(dependencies: FileServiceDependencies) {
    this.#dependencies = dependencies;
    this.#store = new FileStore(dependencies.database);
    this.#links = new FileLinks(dependencies.masterKey);
  }

  /**
   * Receives the upload of a request.
   * @throws AppError `files_disabled`, `files_full`, `storage_full`, `invalid_request`; nothing is kept then
   */
  async create(owner: Owner, request: RequestContext): Promise<FileObject> {
    const { artifacts, limits, clock } = this.#dependencies;
    const { userId } = owner;
    const { uploads } = artifacts;
    if (uploads === undefined) throw new AppError('files_disabled');
    if ((await this.#store.count(userId, clock.now())) >= MAX_FILES)
      throw new AppError('files_full', { params: { most: String(MAX_FILES) } });
    const check = new FileCheck(limits());
    let received: ReceivedFile | undefined;
    try {
      const { fields, received: filename } = await request.readUpload(async (file) => {
        received = await uploads.receive(userId, file, (chunk) => check.push(chunk));
        return file.filename;
      });
      if (received === undefined) throw invalidRequest('file is required.', 'file');
      const { id } = await this.#keep(owner, received, filename, fields, check.end());
      return await this.get(owner, id);
    } finally {
      await received?.release();
    }
  }

  async #keep(
    { userId, actorId }: Owner,
    received: ReceivedFile,
    filename: string,
    fields: { readonly [name: string]: unknown },
    { kind, mimeType }: { readonly kind: FileKind; readonly mimeType: string },
  ): Promise<FileRow> {
    const purpose = toPurpose(fields['purpose'], kind);
    const createdAt = this.#dependencies.clock.now();
    const row = {
      id: newTimedId(ID_PREFIX, createdAt),
      user_id: userId,
      actor_id: actorId ?? null,
      purpose,
      filename: toFilename(filename),
      bytes: received.bytes,
      sha256: received.sha256,
      mime_type: mimeType,
      created_at: createdAt,
      expires_at: createdAt + toLifetimeMs(fields['expires_after']),
    };
    await received.keep({ fileId: row.id, mimeType, expiresAt: row.expires_at }, (trx) => this.#store.insert(trx, row));
    return row;
  }

  /** @throws AppError `file_not_found` */
  async get(owner: Owner, id: string): Promise<FileObject> {
    return toFileObject(await this.#find(owner, id));
  }

  async list(owner: Owner, query: FileQuery) {
    const { limit, ...filter } = toFilter(query);
    const found = await this.#store.list(owner, this.#dependencies.clock.now(), { ...filter, limit: limit + 1 });
    return openAiList(found.map(toFileObject), limit);
  }

  /**
   * @param authorId the only member whose files may be deleted
   * @throws AppError `file_not_found`, `forbidden` for a file of another member
   */
  async delete(owner: Owner, id: string, authorId: number | undefined): Promise<void> {
    const { database, artifacts } = this.#dependencies;
    await this.#find(owner, id);
    await database.transaction(async (trx) => {
      if (!(await this.#store.delete(trx, id, authorId))) throw new AppError('forbidden');
      await artifacts.removeWithTask(trx, id);
    });
  }

  /** Deletes a file of the service itself. */
  async remove(id: string): Promise<void> {
    const { database, artifacts } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (await this.#store.delete(trx, id)) await artifacts.removeWithTask(trx, id);
    });
  }

  /**
   * Opens the content for a reader; a deletion ends the transfer within a second.
   * @throws AppError `file_not_found`
   */
  async open(owner: Owner, id: string, request: FileRequestParts) {
    const row = await this.#find(owner, id);
    const opened = await this.#dependencies.artifacts.storedFiles.openUpload(row.id, request);
    if (opened === undefined) throw new AppError('file_not_found');
    return { ...opened, body: this.#endWithFile(opened.body, row) };
  }

  /**
   * Writes a file of the service itself, which is exempt from upload limits.
   * @param alongside further writes of the transaction that makes the file visible; may throw to refuse it
   * @throws AppError `files_disabled`, `storage_full`
   */
  async write(
    { userId, actorId }: Owner,
    file: { readonly filename: string; readonly purpose: FilePurpose | 'batch_output'; readonly lifetimeMs: number },
    content: AsyncIterable<string> | Iterable<string>,
    alongside: (trx: Trx, id: string) => Promise<void> = async () => {},
  ): Promise<FileObject> {
    const { artifacts, clock } = this.#dependencies;
    const { uploads } = artifacts;
    if (uploads === undefined) throw new AppError('files_disabled');
    const body = Readable.from(toBuffers(content));
    const received = await uploads.receive(userId, { body, announcedBytes: undefined }, () => {});
    try {
      const createdAt = clock.now();
      const row = {
        id: newTimedId(ID_PREFIX, createdAt),
        user_id: userId,
        actor_id: actorId ?? null,
        purpose: file.purpose,
        filename: file.filename,
        bytes: received.bytes,
        sha256: received.sha256,
        mime_type: 'application/jsonl',
        created_at: createdAt,
        expires_at: createdAt + file.lifetimeMs,
      };
      const kept = { fileId: row.id, mimeType: row.mime_type, expiresAt: row.expires_at };
      await received.keep(kept, async (trx) => {
        await this.#store.insert(trx, row);
        await alongside(trx, row.id);
      });
      return toFileObject(row);
    } finally {
      await received.release();
    }
  }

  /** A file as the input of a video; undefined for an unknown id, an expired file and another account's. */
  async findInput(id: string, { userId }: { readonly userId: number }) {
    const { artifacts, clock, baseUrl } = this.#dependencies;
    const row = await this.#store.find({ userId }, id, clock.now());
    if (row === undefined) return undefined;
    return {
      mediaType: row.mime_type,
      size: row.bytes,
      key: row.sha256,
      load: async (): Promise<Buffer> => {
        const opened = await artifacts.storedFiles.openUpload(id, {});
        if (opened === undefined) throw new AppError('file_not_found');
        return buffer(opened.body);
      },
      address: async (): Promise<string> => baseUrl + this.linkTo(id),
    };
  }

  /** A signed, short-lived path of the content; a deletion of the file ends it. */
  linkTo(id: string): string {
    return this.#links.create(id, this.#dependencies.clock.now() + FETCH_LIFETIME_MS);
  }

  /** Opens the content by a signed address. @throws AppError `forbidden`, `file_not_found` */
  async openByLink(
    id: string,
    link: { readonly expires: number; readonly signature: string },
    request: FileRequestParts,
  ) {
    if (!this.#links.verify(id, link, this.#dependencies.clock.now())) throw new AppError('forbidden');
    const row = await this.#store.findById(id, this.#dependencies.clock.now());
    if (row === undefined) throw new AppError('file_not_found');
    return this.open({ userId: row.user_id }, id, request);
  }

  /** Removes the rows of expired files and of removed accounts; their bytes are removed as artifacts. */
  get job(): ScheduledJob {
    return {
      name: 'ended files',
      intervalMs: HOUR_MS,
      run: () => this.#store.deleteEnded(this.#dependencies.clock.now()),
    };
  }

  async #find(owner: Owner, id: string): Promise<AuthoredFile> {
    const row = await this.#store.find(owner, id, this.#dependencies.clock.now());
    if (row === undefined) throw new AppError('file_not_found');
    return row;
  }

  #endWithFile(body: Readable, { id, user_id }: FileRow): Readable {
    const timer = setInterval(() => {
      this.#store.find({ userId: user_id }, id, this.#dependencies.clock.now()).then(
        (row) => row ?? body.destroy(new Error('the file was deleted')),
        () => {},
      );
    }, RECHECK_MS).unref();
    return body.once('close', () => clearInterval(timer));
  }
}

/** Joins short texts, because every chunk is written on its own. */
async function* toBuffers(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  let joined = '';
  for await (const text of texts) {
    joined += text;
    if (joined.length < CHUNK_LENGTH) continue;
    yield Buffer.from(joined);
    joined = '';
  }
  if (joined !== '') yield Buffer.from(joined);
}

type FileRequestParts = Parameters<Artifacts['storedFiles']['openUpload']>[1];

/** The query of a list, as strings. */
interface FileQuery {
  readonly purpose?: string;
  readonly after?: string;
  readonly limit?: string;
  readonly order?: string;
}

const MAX_LIMIT = 10_000;

function toFilter({ purpose, after, limit = '100', order = 'desc' }: FileQuery): FileFilter {
  if (!/^\d{1,5}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT)
    throw invalidRequest('limit must be from 1 to 10000.', 'limit');
  if (order !== 'asc' && order !== 'desc') throw invalidRequest('order must be asc or desc.', 'order');
  if (purpose !== undefined && purpose !== 'batch_output' && !isPurpose(purpose)) throw unknownPurpose();
  return { purpose, after, limit: Number(limit), order };
}

const isPurpose = (value: unknown): value is FilePurpose => FILE_PURPOSES.some((purpose) => purpose === value);

const unknownPurpose = (): AppError => invalidRequest(`purpose must be ${FILE_PURPOSES.join(', ')}.`, 'purpose');

function toPurpose(value: unknown, kind: FileKind): FilePurpose {
  if (value === undefined) throw invalidRequest('purpose is required.', 'purpose');
  if (!isPurpose(value)) throw unknownPurpose();
  if ((value === 'batch') !== (kind === 'jsonl'))
    throw invalidRequest(
      value === 'batch' ? 'A file with the purpose batch must be JSONL.' : 'JSONL needs the purpose batch.',
      'purpose',
    );
  return value;
}

/** @returns milliseconds */
function toLifetimeMs(value: unknown): number {
  if (value === undefined) return DEFAULT_LIFETIME_MS;
  const { anchor = 'created_at', seconds } = Object(value) as { readonly anchor?: unknown; readonly seconds?: unknown };
  if (anchor !== 'created_at') throw invalidRequest('expires_after.anchor must be created_at.', 'expires_after.anchor');
  const { least, most } = FILE_LIFETIME_SECONDS;
  const isWhole = typeof seconds === 'string' && /^\d{1,10}$/.test(seconds);
  if (!isWhole || Number(seconds) < least || Number(seconds) > most)
    throw invalidRequest(`expires_after.seconds must be from ${least} to ${most}.`, 'expires_after.seconds');
  return Number(seconds) * 1_000;
}

/** The name without folders and control characters, as it is shown and sent in headers. */
function toFilename(given: string): string {
  const name = given.split(/[/\\]/).at(-1)?.replace(/\p{C}/gu, '').trim();
  return (name || 'file').slice(0, MAX_FILENAME_LENGTH).toWellFormed();
}

const toFileObject = (row: FileRow & Partial<AuthoredFile>): FileObject => ({
  id: row.id,
  object: 'file',
  bytes: row.bytes,
  created_at: Math.floor(row.created_at / 1_000),
  expires_at: Math.floor(row.expires_at / 1_000),
  filename: row.filename,
  purpose: row.purpose,
  status: 'processed',
  mime_type: row.mime_type,
  sha256: row.sha256,
  ...defined({ uploaded_by: row.author ?? undefined }),
});

/** Signed addresses of short life under which a vendor fetches an input. */
class FileLinks {
  readonly #signer: Signer;
  constructor(masterKey: Buffer) {
    this.#signer = createSigner(masterKey, 'file link');
  }

  create(id: string, expires: number): string {
    const signature = this.#signer.sign(textOf(id, expires));
    return `/v1/files/${encodeURIComponent(id)}/fetch?${new URLSearchParams({ expires: String(expires), signature })}`;
  }

  verify(id: string, link: { readonly expires: number; readonly signature: string }, now: number): boolean {
    return link.expires > now && this.#signer.verify(textOf(id, link.expires), link.signature);
  }
}

const textOf = (id: string, expires: number): string => `GET file\n${id}\n${expires}`;
