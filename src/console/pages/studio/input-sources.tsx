import {
  Button,
  Group,
  NativeSelect,
  Popover,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { IconMusic } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { cloneElement, type ReactElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { INPUT_TYPES, type InputType } from '../../../contract/generation-ways.ts';
import { randomId } from '../../../contract/random-id.ts';
import { Dialog } from '../../components/dialog.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { useOpenedOnMount } from '../../components/lazy-dropdown-button.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { filesPagesQuery } from '../../data/files.ts';
import { inputTypeOf, inputTypeOfName } from '../../data/media-types.ts';
import { videosQuery } from '../../data/videos.ts';
import type { DraftInput } from './inputs.ts';

interface InputPickerProps {
  readonly onPick: (input: Omit<DraftInput, 'role'>) => void;
  readonly onClose: () => void;
}

type Shelf = 'files' | 'videos';

/** Picks an input among the files and the finished videos of the account. */
export function InputPicker({ onPick, onClose }: InputPickerProps) {
  const { t } = useTranslation('studio');
  const [shelf, setShelf] = useState<Shelf>('files');
  const pick = (input: Omit<DraftInput, 'role' | 'key'>): void => {
    onPick({ key: randomId(), ...input });
    onClose();
  };
  return (
    <Dialog title={t('pickTitle')} onClose={onClose} size={760}>
      <Stack gap="sm">
        <SegmentedControl
          aria-label={t('pickTitle')}
          data={(['files', 'videos'] as const).map((value) => ({ value, label: t(`shelves.${value}`) }))}
          value={shelf}
          onChange={setShelf}
        />
        {shelf === 'files' ? <FileShelf onPick={pick} /> : <VideoShelf onPick={pick} />}
      </Stack>
    </Dialog>
  );
}

interface ShelfProps {
  readonly onPick: (input: Omit<DraftInput, 'role' | 'key'>) => void;
}

function FileShelf({ onPick }: ShelfProps) {
  const { t } = useTranslation(['studio', 'app']);
  const files = useInfiniteQuery(filesPagesQuery);
  const media = files.data?.pages.flatMap(({ data }) => data).filter(({ mime_type }) => inputTypeOf(mime_type));
  if (files.error !== null) return <QueryError query={files} />;
  if (media === undefined) return <Skeleton h={180} />;
  if (media.length === 0) return <Text c="dimmed">{t('noFiles')}</Text>;
  return (
    <>
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs">
        {media.map(({ id, filename, mime_type, bytes, url }) => {
          const type = inputTypeOf(mime_type) ?? 'image';
          return (
            <UnstyledButton
              key={id}
              className="pick"
              onClick={() => onPick({ type, name: filename, bytes, source: { file_id: id } })}
            >
              <span className="pick-image">
                {type === 'image' ? <img src={url} alt="" loading="lazy" /> : null}
                {type === 'video' ? <video src={`${url}#t=0.05`} muted preload="metadata" aria-hidden /> : null}
                {type === 'audio' ? <IconMusic size={24} aria-hidden /> : null}
              </span>
              <Text size="xs" truncate>
                {filename}
              </Text>
            </UnstyledButton>
          );
        })}
      </SimpleGrid>
      {files.hasNextPage ? (
        <Group>
          <Button variant="default" loading={files.isFetchingNextPage} onClick={() => void files.fetchNextPage()}>
            {t('app:more')}
          </Button>
        </Group>
      ) : null}
    </>
  );
}

function VideoShelf({ onPick }: ShelfProps) {
  const { t } = useTranslation('studio');
  const videos = useQuery(videosQuery(1, 48, { status: 'SUCCESS' }));
  if (videos.error !== null) return <QueryError query={videos} />;
  if (videos.data === undefined) return <Skeleton h={180} />;
  if (videos.data.data.length === 0) return <Text c="dimmed">{t('noVideosYet')}</Text>;
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs">
      {videos.data.data.map(({ task_id, prompt, poster_url }) => {
        const name = prompt === '' ? t('noPrompt') : prompt;
        return (
          <UnstyledButton
            key={task_id}
            className="pick"
            onClick={() => onPick({ type: 'video', name, source: { file_id: task_id } })}
          >
            <span className="pick-image">
              {poster_url === '' ? null : <img src={poster_url} alt="" loading="lazy" />}
            </span>
            <Text size="xs" truncate>
              {name}
            </Text>
          </UnstyledButton>
        );
      })}
    </SimpleGrid>
  );
}

interface InputLinkProps {
  readonly target: ReactElement<{ onClick?: () => void }>;
  readonly onLink: (type: InputType, url: string) => void;
}

const isLink = (text: string): boolean => /^https?:\/\/\S+$/i.test(text.trim());
const pathOf = (url: string): string => url.trim().split(/[?#]/, 1)[0] ?? '';

/** Takes the URL of a file instead of the file. */
export function InputLinkPopover({ target, onLink }: InputLinkProps) {
  const { t } = useTranslation('studio');
  const [link, setLink] = useState('');
  const [chosen, setChosen] = useState<InputType>();
  const [opened, setOpened] = useOpenedOnMount();
  const type = chosen ?? inputTypeOfName(pathOf(link)) ?? 'image';
  const use = (): void => {
    onLink(type, link.trim());
    setLink('');
    setOpened(false);
  };
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus width={280}>
      <Popover.Target>{cloneElement(target, { onClick: () => setOpened(!opened) })}</Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <TextInput
            label={t('linkLabel')}
            placeholder="https://"
            type="url"
            value={link}
            onChange={(event) => setLink(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && isLink(link)) use();
            }}
          />
          <NativeSelect
            label={t('linkType')}
            data={INPUT_TYPES.map((value) => ({ value, label: t(`inputTypes.${value}`) }))}
            value={type}
            onChange={(event) => setChosen(event.currentTarget.value as InputType)}
          />
          <Button size="xs" disabled={!isLink(link)} onClick={use}>
            {t('useLink')}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
