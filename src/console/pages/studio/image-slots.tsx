import { ActionIcon, Alert, FileButton, Group, Image, Paper, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconLink, IconPhotoPlus, IconX } from '@tabler/icons-react';
import { lazy, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LazyDropdownButton } from '../../components/lazy-dropdown-button.tsx';
import type { AvailableControls, ImageInput } from './draft.ts';
import { ACCEPTED_TYPES, imageFilesOf, readImage } from './image-files.ts';

const ImageLinkInput = lazy(() => import('./image-link-input.tsx'));

interface ImageSlotsProps {
  readonly limits: AvailableControls['images'];
  readonly images: readonly ImageInput[];
  readonly onChange: (images: readonly ImageInput[]) => void;
}

/** Slots for the first and last frame or reference images of a video; filled by drop, paste, file selection or link. */
export function ImageSlots({ limits, images, onChange }: ImageSlotsProps) {
  const { t } = useTranslation('studio');
  const [problem, setProblem] = useState<string>();
  const freeSlots = limits.max - images.length;

  const add = async (files: readonly File[]): Promise<void> => {
    setProblem(undefined);
    try {
      const read = await Promise.all(files.slice(0, freeSlots).map(readImage));
      if (read.length > 0) onChange([...images, ...read]);
    } catch (error) {
      setProblem((error as Error).message === 'size' ? t('imageSize') : t('imageType'));
    }
  };
  const isDragged = useImageDropAndPaste(limits.max === 0 ? undefined : add);
  if (limits.max === 0) return null;
  const roleLabel = (index: number): string => {
    const role =
      limits.max > 2 && limits.roles.includes('reference') && images.length > 2 ? 'reference' : limits.roles[index];
    if (role === 'first_frame') return t('firstFrame');
    return role === 'last_frame' ? t('lastFrame') : t('reference');
  };
  // One empty slot more than there are images.
  const slots = Math.min(limits.max, Math.max(images.length + 1, limits.roles.includes('last_frame') ? 2 : 1));
  return (
    <Stack gap={6}>
      {isDragged ? (
        <div className="drop-target">
          <Text fw={600}>{t('dropImage')}</Text>
        </div>
      ) : null}
      <Text size="sm" fw={500}>
        {t('images')}
      </Text>
      <Group gap="xs">
        {Array.from({ length: slots }, (_, index) => {
          const image = images[index];
          const role = roleLabel(index);
          return image === undefined ? (
            <EmptySlot
              key={role + String(index)}
              role={role}
              onFiles={add}
              onLink={(src) => onChange([...images, { src, name: src }])}
            />
          ) : (
            <FilledSlot
              key={image.src.slice(-64)}
              image={image}
              role={role}
              onRemove={() => onChange(images.filter((each) => each !== image))}
            />
          );
        })}
      </Group>
      <Text size="xs" c="dimmed">
        {t('imagesHint')}
      </Text>
      {problem === undefined ? null : (
        <Alert color="red" p="xs" role="alert">
          {problem}
        </Alert>
      )}
    </Stack>
  );
}

const SLOT_SIZE = { w: 132, h: 96 } as const;

function FilledSlot({ image, role, onRemove }: { image: ImageInput; role: string; onRemove: () => void }) {
  const { t } = useTranslation('studio');
  // External images are not loaded, because that would reveal the user's IP address to the other host.
  const isLocal = image.src.startsWith('data:');
  return (
    <Paper withBorder pos="relative" {...SLOT_SIZE} style={{ overflow: 'hidden' }}>
      {isLocal ? (
        <Image src={image.src} alt={image.name} h="100%" fit="cover" />
      ) : (
        <Stack p="xs" gap={2} h="100%" justify="center">
          <IconLink size={16} />
          <Text size="xs" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
            {image.name}
          </Text>
        </Stack>
      )}
      <Text size="xs" pos="absolute" bottom={0} left={0} right={0} px={6} bg="var(--mantine-color-body)" opacity={0.92}>
        {role}
      </Text>
      <ActionIcon
        pos="absolute"
        top={4}
        right={4}
        size="sm"
        variant="default"
        aria-label={t('removeImage', { role })}
        onClick={onRemove}
      >
        <IconX size={13} />
      </ActionIcon>
    </Paper>
  );
}

interface EmptySlotProps {
  readonly role: string;
  readonly onFiles: (files: readonly File[]) => Promise<void>;
  readonly onLink: (link: string) => void;
}

function EmptySlot({ role, onFiles, onLink }: EmptySlotProps) {
  const { t } = useTranslation('studio');
  return (
    <Paper withBorder pos="relative" {...SLOT_SIZE} style={{ borderStyle: 'dashed' }}>
      <FileButton accept={ACCEPTED_TYPES} multiple onChange={(files) => void onFiles(files)}>
        {(props) => (
          <UnstyledButton {...props} w="100%" h="100%" aria-label={t('addImage', { role })}>
            <Stack align="center" justify="center" h="100%" gap={4}>
              <IconPhotoPlus size={20} color="var(--mantine-color-dimmed)" />
              <Text size="xs" c="dimmed">
                {role}
              </Text>
            </Stack>
          </UnstyledButton>
        )}
      </FileButton>
      <LazyDropdownButton
        dropdown={(button) => <ImageLinkInput target={button} onLink={onLink} />}
        popup="dialog"
        button={
          <ActionIcon pos="absolute" top={4} right={4} size="sm" aria-label={t('imageLink')}>
            <IconLink size={14} />
          </ActionIcon>
        }
      />
    </Paper>
  );
}

/**
 * Handles images dropped or pasted anywhere on the page. `take` is undefined if the model accepts no images; the
 * browser's default applies then. @returns whether images are being dragged over the page
 */
function useImageDropAndPaste(take: ((files: readonly File[]) => Promise<void>) | undefined): boolean {
  const [isDragged, setDragged] = useState(false);
  const current = useRef(take);
  current.current = take;
  const takes = take !== undefined;
  useEffect(() => {
    if (!takes) return undefined;
    const accept = (event: ClipboardEvent | DragEvent, data: DataTransfer | null): void => {
      const files = imageFilesOf(data);
      if (files.length === 0) return;
      event.preventDefault();
      void current.current?.(files);
    };
    const onPaste = (event: ClipboardEvent): void => accept(event, event.clipboardData);
    const onDragOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      // Otherwise the browser would navigate to the image.
      event.preventDefault();
      setDragged(true);
    };
    const onDragLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setDragged(false);
    };
    const onDrop = (event: DragEvent): void => {
      setDragged(false);
      accept(event, event.dataTransfer);
    };
    const listeners = { paste: onPaste, dragover: onDragOver, dragleave: onDragLeave, drop: onDrop } as const;
    for (const [name, listener] of Object.entries(listeners))
      document.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        document.removeEventListener(name, listener as EventListener);
    };
  }, [takes]);
  return isDragged;
}
