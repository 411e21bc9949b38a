import { Button, FileButton, Group, Paper, Textarea } from '@mantine/core';
import { IconPhotoPlus, IconPlayerStopFilled, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useToasts } from '../../components/toasts.tsx';
import { readFileAsDataUrl } from '../../data/read-file-as-data-url.ts';
import { MessageImages } from './message-images.tsx';

interface ComposerProps {
  readonly busy: boolean;
  readonly disabled: boolean;
  readonly onSend: (text: string, images: readonly string[]) => void;
  readonly onStop: () => void;
}

const TYPES = 'image/png,image/jpeg,image/webp,image/gif';
const MAX_BYTES = 10 * 1024 * 1024;

/** Where a message is written; pictures are chosen or pasted. Enter sends, Shift+Enter begins a line. */
export function Composer({ busy, disabled, onSend, onStop }: ComposerProps) {
  const { t } = useTranslation('playground');
  const toasts = useToasts();
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly string[]>([]);
  const isEmpty = text.trim() === '' && images.length === 0;
  const addImages = async (files: readonly File[]): Promise<void> => {
    const fitting = files.filter(({ type, size }) => TYPES.includes(type) && type !== '' && size <= MAX_BYTES);
    if (fitting.length < files.length) toasts.error(t('imageRefused'));
    const added = await Promise.all(fitting.map(readFileAsDataUrl));
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
        onPaste={({ clipboardData }) => void addImages([...clipboardData.files])}
        onKeyDown={(event) => {
          // While an input method composes, Enter chooses a word.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
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
