import {
  Alert,
  Anchor,
  Button,
  CloseButton,
  Code,
  FileButton,
  Group,
  Loader,
  Paper,
  Text,
  Textarea,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconChevronDown,
  IconChevronRight,
  IconPhotoPlus,
  IconPlayerStopFilled,
  IconSend,
  IconTool,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { isComposing } from '../../components/shortcut-keys.ts';
import { useToasts } from '../../components/toasts.tsx';
import { formatMilliseconds } from '../../data/format-values.ts';
import { pastedFiles, readAsDataUrl } from '../../data/media-types.ts';
import { receiptQuery } from '../../data/requests.ts';
import type { Turn } from './conversations.ts';

/** One message. Model output is rendered as plain text only, never as markup. */
export function MessageView({ turn, busy = false }: { readonly turn: Turn; readonly busy?: boolean }) {
  const { t } = useTranslation('playground');
  const isOwn = turn.role === 'user';
  return (
    <Paper
      component="article"
      withBorder
      p="md"
      aria-label={isOwn ? t('you') : (turn.model ?? t('model'))}
      bg={isOwn ? 'var(--mantine-color-default-hover)' : undefined}
      ml={{ base: 0, sm: isOwn ? 48 : 0 }}
      mr={{ base: 0, sm: isOwn ? 0 : 48 }}
    >
      <Group gap="xs" mb={4}>
        <Text size="xs" c="dimmed" fw={600}>
          {isOwn ? t('you') : turn.model}
        </Text>
        {busy ? <Loader size={12} aria-label={t('answering')} /> : null}
      </Group>
      {turn.thinking === undefined || turn.thinking === '' ? null : <Thinking text={turn.thinking} />}
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {turn.text}
      </Text>
      <MessageImages images={turn.images ?? []} height={120} />
      {turn.toolCalls?.map(({ name, arguments: text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a model may call a tool twice
        <div key={index} style={{ marginTop: 8 }}>
          <Group gap={6}>
            <IconTool size={14} />
            <Text size="xs" fw={600}>
              {t('toolCall', { name })}
            </Text>
          </Group>
          <Code block tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {text}
          </Code>
        </div>
      ))}
      {turn.error === undefined ? null : (
        <Alert color="red" mt="xs" role="alert">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {turn.error}
          </Text>
        </Alert>
      )}
      {isOwn || busy ? null : <Figures turn={turn} />}
    </Paper>
  );
}

function Thinking({ text }: { readonly text: string }) {
  const { t } = useTranslation('playground');
  const [open, { toggle }] = useDisclosure(false);
  return (
    <div style={{ marginBottom: 8 }}>
      <UnstyledButton onClick={toggle} aria-expanded={open} c="dimmed" fz="xs">
        <Group gap={4}>
          {open ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          {t('thinking')}
        </Group>
      </UnstyledButton>
      {open ? (
        <Text size="xs" c="dimmed" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {text}
        </Text>
      ) : null}
    </div>
  );
}

/** Tokens, durations and cost of an answer; the cost is read from its receipt. */
function Figures({ turn }: { readonly turn: Turn }) {
  const { t } = useTranslation('playground');
  const formatCredits = useFormatCredits();
  const id = turn.requestId;
  const receipt = useQuery({
    ...receiptQuery(id ?? ''),
    enabled: id !== undefined,
    // The charge is written shortly after the answer has ended.
    retry: 5,
    retryDelay: 1_000,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const parts = [
    turn.inputTokens === undefined
      ? undefined
      : t('tokens', { input: turn.inputTokens, output: turn.outputTokens ?? 0 }),
    turn.firstTokenMs === undefined ? undefined : t('firstToken', { time: formatMilliseconds(turn.firstTokenMs) }),
    turn.durationMs === undefined ? undefined : formatMilliseconds(turn.durationMs),
  ].filter((part) => part !== undefined);
  return (
    <Text size="xs" c="dimmed" mt="xs">
      {parts.join(' · ')}
      {receipt.data === undefined || id === undefined ? null : (
        <>
          {' · '}
          <Anchor size="xs" renderRoot={(props) => <Link to="/account/receipts/$id" params={{ id }} {...props} />}>
            {formatCredits(receipt.data.charged)}
          </Anchor>
        </>
      )}
    </Text>
  );
}

interface ComposerProps {
  readonly busy: boolean;
  readonly disabled: boolean;
  readonly onSend: (text: string, images: readonly string[]) => void;
  readonly onStop: () => void;
}

const TYPES = 'image/png,image/jpeg,image/webp,image/gif';
const MAX_BYTES = 10 * 1024 * 1024;

/** Message input; images are picked or pasted. Enter sends, Shift + Enter inserts a line break. */
export function Composer({ busy, disabled, onSend, onStop }: ComposerProps) {
  const { t } = useTranslation('playground');
  const toasts = useToasts();
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly string[]>([]);
  const isEmpty = text.trim() === '' && images.length === 0;
  const addImages = async (files: readonly File[]): Promise<void> => {
    const fitting = files.filter(({ type, size }) => TYPES.includes(type) && type !== '' && size <= MAX_BYTES);
    if (fitting.length < files.length) toasts.error(t('imageRefused'));
    const added = await Promise.all(fitting.map(readAsDataUrl));
    setImages((known) => [...known, ...added]);
  };
  const send = (): void => {
    if (isEmpty || busy || disabled) return;
    onSend(text.trim(), images);
    setText('');
    setImages([]);
  };
  return (
    <Paper withBorder p="sm">
      <Textarea
        aria-label={t('message')}
        placeholder={t('messagePlaceholder')}
        variant="unstyled"
        autosize
        minRows={2}
        maxRows={10}
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
        onPaste={({ clipboardData }) => void addImages(pastedFiles(clipboardData))}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
          event.preventDefault();
          send();
        }}
      />
      <MessageImages
        images={images}
        height={56}
        onRemove={(place) => setImages((known) => known.filter((_, each) => each !== place))}
      />
      <Group justify="space-between" mt="xs">
        <FileButton multiple accept={TYPES} onChange={(files) => void addImages(files)}>
          {(props) => (
            <Button
              {...props}
              variant="subtle"
              color="gray"
              size="compact-sm"
              leftSection={<IconPhotoPlus size={16} />}
            >
              {t('addImage')}
            </Button>
          )}
        </FileButton>
        {busy ? (
          <Button variant="default" leftSection={<IconPlayerStopFilled size={16} />} onClick={onStop}>
            {t('stop')}
          </Button>
        ) : (
          <Button leftSection={<IconSend size={16} />} disabled={isEmpty || disabled} onClick={send}>
            {t('send')}
          </Button>
        )}
      </Group>
    </Paper>
  );
}

interface MessageImagesProps {
  /** `data:` URLs. */
  readonly images: readonly string[];
  readonly height: number;
  /** Undefined: images cannot be removed. */
  readonly onRemove?: (place: number) => void;
}

/** Images of a message in a row. */
function MessageImages({ images, height, onRemove }: MessageImagesProps) {
  const { t } = useTranslation('playground');
  if (images.length === 0) return null;
  return (
    <Group gap="xs" mt="xs">
      {images.map((src, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
        <div key={place} style={{ position: 'relative' }}>
          <img
            src={src}
            alt={t('imageOf', { number: place + 1 })}
            style={{ maxHeight: height, maxWidth: '100%', borderRadius: 8 }}
          />
          {onRemove === undefined ? null : (
            <CloseButton
              size="xs"
              variant="filled"
              aria-label={t('removeImage', { number: place + 1 })}
              style={{ position: 'absolute', top: 2, right: 2 }}
              onClick={() => onRemove(place)}
            />
          )}
        </div>
      ))}
    </Group>
  );
}
