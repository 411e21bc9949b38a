import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OwnFile } from '../data/files.ts';
import { toErrorMessage } from './error-alert.tsx';

/** An upload that runs or has stopped. */
export interface Upload {
  readonly key: string;
  readonly file: File;
  /** Share that has been sent, from 0 to 1. */
  readonly share: number;
  /** Why it stopped. */
  readonly error?: string | undefined;
  /** An object URL of the file, for its thumbnail. */
  readonly preview: string;
}

interface UploadQueueOptions {
  readonly onDone: (key: string, file: OwnFile) => void;
  /** Handles an error in another way. @returns whether it did */
  readonly onError?: (key: string, error: unknown, file: File) => Promise<boolean>;
}

/** Uploads of a page, one at a time. */
export interface UploadQueue {
  /** Includes finished uploads, for their previews. */
  readonly uploads: readonly Upload[];
  begin(key: string, file: File): void;
  /** Repeats an upload that stopped. */
  retry(key: string): void;
  /** Aborts and forgets an upload. */
  cancel(key: string): void;
}

/** Uploads files with progress; an upload that lost its connection continues when the browser is online again. */
export function useUploadQueue(options: UploadQueueOptions): UploadQueue {
  const { t } = useTranslation();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const waiting = useRef(new Map<string, AbortController>());
  const interrupted = useRef(new Map<string, File>());
  const last = useRef(Promise.resolve());
  const current = useRef(options);
  current.current = options;
  const update = (key: string, part: Partial<Upload>): void =>
    setUploads((all) => all.map((each) => (each.key === key ? { ...each, ...part } : each)));

  const send = async (key: string, file: File, { signal }: AbortController): Promise<void> => {
    if (signal.aborted) return;
    // Loaded with the first upload, because the studio's first screen needs none.
    const { UploadInterruptedError, uploadFile } = await import('../data/files.ts');
    try {
      const done = await uploadFile(file, { signal, onProgress: (share) => update(key, { share }) });
      update(key, { share: 1 });
      current.current.onDone(key, done);
    } catch (error) {
      if (signal.aborted || (await current.current.onError?.(key, error, file)) === true) return;
      const isInterrupted = error instanceof UploadInterruptedError;
      if (isInterrupted) interrupted.current.set(key, file);
      update(key, { error: isInterrupted ? t('uploadInterrupted') : toErrorMessage(error, t('unreachable')) });
    }
  };
  const enqueue = (key: string, file: File): void => {
    const controller = new AbortController();
    waiting.current.set(key, controller);
    interrupted.current.delete(key);
    update(key, { error: undefined, share: 0 });
    last.current = last.current.then(() => send(key, file, controller));
  };
  const resume = useRef(enqueue);
  resume.current = enqueue;
  useEffect(() => {
    const onOnline = (): void => {
      for (const [key, file] of interrupted.current) resume.current(key, file);
    };
    addEventListener('online', onOnline);
    return () => removeEventListener('online', onOnline);
  }, []);

  return {
    uploads,
    begin(key, file) {
      setUploads((all) => [...all, { key, file, share: 0, preview: URL.createObjectURL(file) }]);
      enqueue(key, file);
    },
    retry(key) {
      const known = uploads.find((each) => each.key === key);
      if (known !== undefined) enqueue(key, known.file);
    },
    cancel(key) {
      waiting.current.get(key)?.abort();
      interrupted.current.delete(key);
      const known = uploads.find((each) => each.key === key);
      if (known !== undefined) URL.revokeObjectURL(known.preview);
      setUploads((all) => all.filter((each) => each.key !== key));
    },
  };
}
