import { Badge, Button, Group, Select, Stack, Text } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DELIVERY_STATUS, type DeliveryStatus, replayEvents, retryDelivery } from '../../../contract/webhooks.ts';
import { DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { deliveriesQuery, type Webhook, type WebhookDelivery } from '../../data/webhook-queries.ts';

const STATUS_COLOR: Readonly<Record<DeliveryStatus, string>> = { pending: 'blue', delivered: 'teal', failed: 'red' };
const REPLAY_HOURS = [1, 24, 72] as const;

/** What was delivered to a webhook, newest first, with request and answer; updates by itself. */
export function WebhookDeliveries({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  const [status, setStatus] = useState<DeliveryStatus>();
  // `next` of the pages before this one.
  const [trail, setTrail] = useState<readonly string[]>([]);
  const [shown, setShown] = useState<WebhookDelivery>();
  const query = deliveriesQuery(String(webhook.id), status, trail.at(-1));
  const deliveries = useQuery({ ...query, placeholderData: keepPreviousData });
  const next = deliveries.data?.next ?? null;
  return (
    <SettingsSection title={t('webhooks.deliveries')} aside={<ReplayButtons webhook={webhook} />}>
      <Select
        aria-label={t('webhooks.state')}
        maw={200}
        mb="sm"
        clearable
        placeholder={t('webhooks.anyState')}
        data={DELIVERY_STATUS.map((each) => ({ value: each, label: t(`webhooks.status.${each}`) }))}
        value={status ?? null}
        onChange={(value) => {
          setTrail([]);
          setStatus(DELIVERY_STATUS.find((each) => each === value));
        }}
      />
      <ErrorAlert error={deliveries.error} retry={() => void deliveries.refetch()} />
      {deliveries.data?.deliveries.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('webhooks.noDeliveries')}
        </Text>
      ) : (
        <DataTable
          label={t('webhooks.deliveries')}
          rows={deliveries.data?.deliveries}
          rowKey={({ id }) => id}
          columns={[
            { label: t('webhooks.event'), cell: ({ event_type: type }) => type },
            { label: t('webhooks.when'), cell: ({ created_time: at }) => <RelativeTime at={at} never="" size="sm" /> },
            {
              label: t('webhooks.state'),
              cell: (row) => <Badge color={STATUS_COLOR[row.status]}>{t(`webhooks.status.${row.status}`)}</Badge>,
            },
            { label: t('webhooks.tries'), align: 'right', cell: ({ tries }) => tries },
            { label: t('webhooks.answer'), cell: ({ last_try: last }) => last?.error || last?.response_status },
            {
              label: t('webhooks.details'),
              hideLabel: true,
              align: 'right',
              cell: (row) => (
                <Button size="compact-sm" variant="subtle" onClick={() => setShown(row)}>
                  {t('webhooks.details')}
                </Button>
              ),
            },
          ]}
        />
      )}
      <Group mt="sm" gap="xs">
        {trail.length === 0 ? null : (
          <Button size="compact-sm" variant="default" onClick={() => setTrail(trail.slice(0, -1))}>
            {t('webhooks.newer')}
          </Button>
        )}
        {next === null ? null : (
          <Button size="compact-sm" variant="default" onClick={() => setTrail([...trail, next])}>
            {t('webhooks.older')}
          </Button>
        )}
      </Group>
      {shown === undefined ? null : (
        <DeliveryDialog webhook={webhook} delivery={shown} onClose={() => setShown(undefined)} />
      )}
    </SettingsSection>
  );
}

function ReplayButtons({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const replay = useMutation({
    mutationFn: async (hours: number) => {
      const since = Math.floor(Date.now() / 1000) - hours * 3_600;
      return (await callApi(replayEvents, { params: { id: String(webhook.id) }, body: { since } })).data.queued;
    },
    onSuccess: async (queued) => {
      toasts.success(t('webhooks.replayed', { count: queued }));
      await queries.invalidateQueries({ queryKey: ['webhooks'] });
    },
    onError: (error) => toasts.error(error.message),
  });
  return (
    <Select
      aria-label={t('webhooks.replay')}
      placeholder={t('webhooks.replay')}
      disabled={!webhook.enabled || replay.isPending}
      data={REPLAY_HOURS.map((hours) => ({ value: String(hours), label: t('webhooks.replayHours', { hours }) }))}
      value={null}
      onChange={(hours) => {
        if (hours !== null) replay.mutate(Number(hours));
      }}
    />
  );
}

interface DeliveryDialogProps {
  readonly webhook: Webhook;
  readonly delivery: WebhookDelivery;
  readonly onClose: () => void;
}

function DeliveryDialog({ webhook, delivery, onClose }: DeliveryDialogProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const { last_try: last } = delivery;
  const retry = useMutation({
    mutationFn: () => callApi(retryDelivery, { params: { id: String(webhook.id), delivery: String(delivery.id) } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['webhooks'] });
      onClose();
    },
  });
  return (
    <Dialog onClose={onClose} size="lg" title={delivery.event_id}>
      <Stack>
        {last === null ? (
          <Text size="sm">{t('webhooks.notTried')}</Text>
        ) : (
          <>
            <Text size="sm" fw={600}>
              {t('webhooks.request')}
            </Text>
            <JsonView value={{ url: last.url, body: last.request_body }} />
            <Text size="sm" fw={600}>
              {t('webhooks.answer')}
            </Text>
            <JsonView
              value={{
                status: last.response_status,
                body: last.response_body,
                error: last.error,
                duration_ms: last.duration_ms,
              }}
            />
          </>
        )}
        <ErrorAlert error={retry.error} />
        <Button loading={retry.isPending} disabled={!webhook.enabled} onClick={() => retry.mutate()}>
          {t('webhooks.retry')}
        </Button>
      </Stack>
    </Dialog>
  );
}
