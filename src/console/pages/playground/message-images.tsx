import { CloseButton, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface MessageImagesProps {
  /** `data:` addresses. */
  readonly images: readonly string[];
  readonly height: number;
  /** Without it they stay. */
  readonly onRemove?: (place: number) => void;
}

/** Pictures of a message, side by side. */
export function MessageImages({ images, height, onRemove }: MessageImagesProps) {
  const { t } = useTranslation('playground');
  if (images.length === 0) return null;
  return (
    <Group gap="xs" mt="xs">
      {images.map((src, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same picture may be there twice
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
