import { Code, Group, Paper, ScrollArea, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { CreditAmount, useFormatCredits, useFormatPrice } from '../../components/credit-amount.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { VideoStatusBadge } from '../../components/task-status.tsx';
import { formatAside, formatDecimal, formatLabelled, formatNames } from '../../data/format-text.ts';
import { formatDateTime, formatDeadline, formatDuration } from '../../data/format-times.ts';
import { type Receipt, receiptQuery } from '../../data/requests.ts';
import type { VideoDetail } from '../../data/videos.ts';
import type requestStrings from '../../strings/en/requests.ts';
import { useModelTitle } from '../studio/models.ts';
import { describeParameters } from './describe-parameters.ts';

/** Facts of a file, as the browser read them from it. */
export interface FileFacts {
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
}

/** Facts of a video, what it cost, and its parameters. */
export function VideoDetails({ video, file }: { readonly video: VideoDetail; readonly file: FileFacts | undefined }) {
  const { t } = useTranslation('studio');
  const parameterName = (name: string): string =>
    t(`parameterNames.${name as 'seconds'}`, { defaultValue: name.replaceAll('_', ' ') });
  return (
    <Stack>
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('facts')}
        </Title>
        <FactTable rows={useFacts(video, file)} />
        <Group gap={4} wrap="nowrap" mt="xs">
          <Code style={{ overflowWrap: 'anywhere' }}>{video.task_id}</Code>
          <CopyIconButton text={video.task_id} />
        </Group>
      </Paper>
      <VideoReceipt video={video} />
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('parameters')}
        </Title>
        <FactTable
          rows={describeParameters(video.request).map(([name, value]) => [
            parameterName(name),
            typeof value === 'boolean' ? t(value ? 'parameterOn' : 'parameterOff') : String(value),
          ])}
        />
        <details>
          <summary style={{ cursor: 'pointer' }}>JSON</summary>
          <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0 }} mt="xs">
            <Code block>{JSON.stringify(video.request, null, 2)}</Code>
          </ScrollArea.Autosize>
        </details>
      </Paper>
    </Stack>
  );
}

type Fact = readonly [name: string, value: ReactNode];

function useFacts(video: VideoDetail, file: FileFacts | undefined): readonly Fact[] {
  const { t } = useTranslation(['studio', 'app']);
  const marksOf = ({ c2pa, signer, aigc }: NonNullable<VideoDetail['provenance']>): readonly string[] => {
    const manifest = c2pa === 'absent' ? [] : t(`provenanceMarks.c2pa.${c2pa}`, { signer });
    const marks = [manifest, aigc ? t('provenanceMarks.aigc') : []].flat();
    return marks.length === 0 ? [t('provenanceMarks.none')] : marks;
  };
  const took = formatDuration(video.finish_time - video.submit_time);
  const rows: readonly (Fact | undefined)[] = [
    [t('filterStatus'), <VideoStatusBadge key="status" {...video} />],
    [t('model'), <ModelName key="model" id={video.model} />],
    video.imported ? [t('imported'), t('importedHint')] : undefined,
    [t('submitted'), formatDateTime(video.submit_time)],
    video.submitted_by === undefined ? undefined : [t('app:member'), video.submitted_by],
    video.finish_time === 0
      ? undefined
      : [t('finished'), formatAside(formatDateTime(video.finish_time), t('took', { time: took }))],
    file === undefined ? undefined : [t('file'), describeFile(file)],
    video.stored_until === 0 ? undefined : [t('keptUntil'), formatDeadline(video.stored_until)],
    video.provenance === null ? undefined : [t('provenance'), formatNames(marksOf(video.provenance))],
  ];
  return rows.filter((row) => row !== undefined);
}

const describeFile = ({ width, height, seconds }: FileFacts): string =>
  Number.isFinite(seconds) ? `${width} × ${height} · ${formatDuration(seconds)}` : `${width} × ${height}`;

/** Title of a model, with the id by which programs call it. */
function ModelName({ id }: { readonly id: string }) {
  const titleOf = useModelTitle();
  return <span title={id}>{titleOf(id)}</span>;
}

type ReceiptLine = Receipt['lines'][number];
type LineLabel = keyof typeof requestStrings.lines;

/** What the video cost and how the amount came about; an imported one was paid elsewhere. */
function VideoReceipt({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation(['requests', 'studio']);
  const price = useFormatPrice();
  const credits = useFormatCredits();
  const { data: receipt } = useQuery({ ...receiptQuery(video.task_id), enabled: !video.imported });
  const sources = receipt?.sources.map(({ kind, quota }) => `${t(`sources.${kind}`)} ${credits(quota)}`) ?? [];
  const times = ({ quantity, unit_quota: unit, multiplier }: ReceiptLine): string =>
    `${formatDecimal(quantity, 2)} × ${price(unit)}${multiplier === 1 ? '' : ` × ${formatDecimal(multiplier, 4)}`}`;
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        {t('studio:cost')}
      </Title>
      <Stack gap={6} fz="sm" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {receipt?.lines.map((line) => (
          <Group key={line.label} justify="space-between" align="flex-start" gap="xs" wrap="nowrap" c="dimmed">
            <div>
              {t(`lines.${line.label as LineLabel}`, { defaultValue: line.label })}
              <Text size="xs">{times(line)}</Text>
            </div>
            <span>{credits(line.quota)}</span>
          </Group>
        ))}
        <Group justify="space-between" gap="xs">
          <Text fw={600} size="sm">
            {t('total')}
          </Text>
          {video.refunded ? (
            <span>
              {t('studio:notCharged')} <s>{credits(video.quota)}</s>
            </span>
          ) : (
            <CreditAmount value={video.quota} fw={600} />
          )}
        </Group>
      </Stack>
      {video.imported ? null : (
        <Group justify="space-between" gap="xs" mt={6}>
          <RouteLink to="/account/receipts/$id" params={{ id: video.task_id }} size="sm">
            {t('studio:receipt')}
          </RouteLink>
          <Text size="xs" c="dimmed">
            {sources.length > 0 && formatLabelled(t('paidFrom'), sources.join(' · '))}
          </Text>
        </Group>
      )}
    </Paper>
  );
}

function FactTable({ rows }: { readonly rows: readonly Fact[] }) {
  return (
    <Table layout="fixed" withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} variant="vertical">
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={110} c="dimmed" fw={400} bg="transparent" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
