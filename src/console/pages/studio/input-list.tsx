import { FileButton, Group, Skeleton, Text } from '@mantine/core';
import { IconFolderOpen, IconLink, IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { randomId } from '../../../contract/random-id.ts';
import { LazyDropdownButton } from '../../components/lazy-dropdown-button.tsx';
import { ACCEPTED_MEDIA, pastedFiles } from '../../data/media-types.ts';
import { useInputTexts } from './input-texts.ts';
import { addInput, type DraftInput, waysFor } from './inputs.ts';
import type { InputListProps } from './uploads.ts';

const InputRows = lazy(() => import('./input-rows.tsx'));
const InputLinkPopover = lazy(async () => ({ default: (await import('./input-sources.tsx')).InputLinkPopover }));
const InputPicker = lazy(async () => ({ default: (await import('./input-sources.tsx')).InputPicker }));

/**
 * Images, videos and audio of a video: filled by drop, paste, file selection, link, or from files and videos of the
 * account. Each input has a role the model takes; its problem is shown beside it.
 */
export function InputList({ model, draft, check, uploads, change }: InputListProps) {
  const { t } = useTranslation('studio');
  const texts = useInputTexts();
  const [isPicking, setPicking] = useState(false);
  const isDragged = useFileDropAndPaste(uploads.add);
  const { inputs, operation } = draft;
  const ways = waysFor(model, operation);
  const takes = ways === undefined ? t('takesUnknown') : texts.takes(ways);
  const isTextOnly = takes === '';
  const add = (input: Omit<DraftInput, 'role'>): void =>
    change((known) => ({ inputs: addInput(known.inputs, input, model, known.operation) }));
  return (
    <section aria-label={t('inputs')} className="input-bar">
      {isDragged ? (
        <div className="drop-target">
          <Text fw={600}>{t('dropFile')}</Text>
        </div>
      ) : null}
      {inputs.length === 0 ? null : (
        <Suspense fallback={<Skeleton h={60 * inputs.length} />}>
          <InputRows model={model} draft={draft} check={check} uploads={uploads} change={change} />
        </Suspense>
      )}
      <Group gap={6}>
        {isTextOnly && inputs.length === 0 ? null : (
          <>
            <FileButton accept={ACCEPTED_MEDIA} multiple onChange={(files) => uploads.add(files)}>
              {(props) => (
                <button {...props} type="button" className="chip slot">
                  <IconPlus size={16} />
                  {t('upload')}
                </button>
              )}
            </FileButton>
            <button
              type="button"
              className="chip slot"
              aria-haspopup="dialog"
              aria-label={t('pick')}
              onClick={() => setPicking(true)}
            >
              <IconFolderOpen size={16} />
              <span className="slot-text">{t('pick')}</span>
            </button>
            <LazyDropdownButton
              dropdown={(button) => (
                <InputLinkPopover
                  target={button}
                  onLink={(type, url) => add({ key: randomId(), type, name: url, source: { url } })}
                />
              )}
              popup="dialog"
              button={
                <button type="button" className="chip slot">
                  <IconLink size={16} />
                  {t('link')}
                </button>
              }
            />
          </>
        )}
        <Text size="xs" c="dimmed" data-takes flex="1 1 180px">
          {isTextOnly ? t('takesText') : takes}
        </Text>
      </Group>
      {isPicking ? (
        <Suspense>
          <InputPicker onPick={add} onClose={() => setPicking(false)} />
        </Suspense>
      ) : null}
    </section>
  );
}

/**
 * Handles files dropped or pasted anywhere on the page. @returns whether files are being dragged over the page
 */
function useFileDropAndPaste(take: (files: readonly File[]) => void): boolean {
  const [isDragged, setDragged] = useState(false);
  const current = useRef(take);
  current.current = take;
  useEffect(() => {
    const accept = (event: Event, files: readonly File[]): void => {
      // A dialog on top has its own use for files.
      if (files.length === 0 || document.querySelector('[role=dialog], dialog[open]') !== null) return;
      event.preventDefault();
      current.current(files);
    };
    const onPaste = (event: ClipboardEvent): void =>
      accept(event, event.clipboardData === null ? [] : pastedFiles(event.clipboardData));
    const onDragOver = (event: globalThis.DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      // Otherwise the browser would navigate to the file.
      event.preventDefault();
      setDragged(true);
    };
    const onDragLeave = (event: globalThis.DragEvent): void => {
      if (event.relatedTarget === null) setDragged(false);
    };
    const onDrop = (event: globalThis.DragEvent): void => {
      setDragged(false);
      accept(event, [...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = { paste: onPaste, dragover: onDragOver, dragleave: onDragLeave, drop: onDrop } as const;
    for (const [name, listener] of Object.entries(listeners))
      document.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        document.removeEventListener(name, listener as EventListener);
    };
  }, []);
  return isDragged;
}
