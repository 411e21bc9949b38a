import { Alert, Code, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Video } from '../data/video-queries.ts';
import { useFormatCredits } from './use-format-credits.ts';

/** Why a video failed and what to do about it, what became of its price, and the vendor's own words collapsed below. */
export function VideoFailure({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const failure = useTranslation('video-failures');
  const formatCredits = useFormatCredits();
  const cause = video.fail_cause === '' ? 'unknown' : video.fail_cause;
  return (
    <Alert color="red" variant="light" p="xs">
      <Text size="sm" fw={600}>
        {failure.t(`${cause}.text`)}
      </Text>
      <Text size="sm" mt={2}>
        {failure.t(`${cause}.advice`)}
      </Text>
      <Text size="xs" fw={600} mt={4}>
        {t(video.imported ? 'importedCost' : 'refunded', { price: formatCredits(video.quota) })}
      </Text>
      <VendorDetails code={video.error_code} message={video.fail_reason} />
    </Alert>
  );
}

/** What the vendor said, collapsed; nothing where it said nothing. */
export function VendorDetails({ code, message }: { readonly code: string; readonly message: string }) {
  const { t } = useTranslation('studio');
  if (code === '' && message === '') return null;
  return (
    <Text size="xs" mt={4} component="details" style={{ overflowWrap: 'anywhere' }}>
      <summary style={{ cursor: 'pointer' }}>{t('vendorDetails')}</summary>
      <span>{message}</span>
      {code === '' ? null : (
        <>
          {' '}
          {t('vendorCode')} <Code>{code}</Code>
        </>
      )}
    </Text>
  );
}
