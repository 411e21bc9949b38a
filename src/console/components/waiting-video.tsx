import { Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { formatEstimate } from '../data/format-values.ts';
import { cancelVideo, type QueuedVideo } from '../data/videos.ts';
import { useFormatCredits } from './credit-amount.tsx';
import { ConfirmDialog } from './dialog.tsx';
import { useToasts } from './toasts.tsx';

/** Place and forecast of a waiting video, with the action that cancels it. */
export default function WaitingVideo({ video }: { readonly video: QueuedVideo }) {
  const { t } = useTranslation('studio');
  return (
    <Stack align="center" gap="xs" w="100%">
      <Group gap="xs" wrap="nowrap">
        <Loader size="xs" type="dots" />
        <Text size="sm" fw={600}>
          {t('waiting.title', { position: video.queue.position })}
        </Text>
      </Group>
      <Text size="xs" c="dimmed" ta="center" style={{ fontVariantNumeric: 'tabular-nums' }} title={t('waiting.hint')}>
        <StartForecast queue={video.queue} />
      </Text>
      <CancelButton video={video} />
    </Stack>
  );
}

/** Shown as "less than" below this time, in seconds. */
const SOON_SECONDS = 10;

/** "starts in about 2 min to 5 min": half of such videos start within the first time, nine in ten within the second. */
function StartForecast({ queue: { starts_in_seconds: starts } }: Pick<QueuedVideo, 'queue'>) {
  const { t } = useTranslation('studio');
  const [fast, slow] = [formatEstimate(starts.p50), formatEstimate(Math.max(starts.p90, 1))];
  return starts.p50 < SOON_SECONDS || fast === slow ? t('waiting.soon', { slow }) : t('waiting.range', { fast, slow });
}

function CancelButton({ video }: { readonly video: QueuedVideo }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const formatCredits = useFormatCredits();
  const cancel = async (): Promise<void> => {
    await cancelVideo(video.task_id);
    await queries.invalidateQueries({ queryKey: ['videos'] });
    toasts.success(t('waiting.cancelled'));
  };
  return (
    <ConfirmDialog
      title={t('waiting.cancelTitle')}
      confirmLabel={t('waiting.confirm')}
      onConfirm={cancel}
      trigger={(open) => (
        <Button size="compact-sm" variant="default" onClick={open}>
          {t('waiting.cancel')}
        </Button>
      )}
    >
      {t('waiting.cancelText', { price: formatCredits(video.quota) })}
    </ConfirmDialog>
  );
}
