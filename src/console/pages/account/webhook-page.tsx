import { Anchor, Badge, Button, Group, Menu, Select, Skeleton, Stack, Text } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import * as endpoints from '../../../contract/webhooks.ts';
import { DELIVERY_STATUS, type DeliveryStatus, replayEvents, retryDelivery } from '../../../contract/webhooks.ts';
import { JsonView } from '../../components/copy-button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { DescriptionList, SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { deliveriesQuery, type Webhook, type WebhookDelivery, webhookQuery } from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { formatLabelled, formatNames } from '../../data/format-values.ts';
import { WebhookDialog, WebhookSecretDialog } from './webhook-dialog.tsx';
import { WebhookState } from './webhook-list-page.tsx';

/** One webhook: its state, actions and deliveries. */
export function WebhookPage() {
  const { t } = useTranslation('account');
  const { id } = useParams({ from: '/app/account/webhooks/$id' });
  const webhook = useQuery(webhookQuery(id));
  return (
    <Page
      title={webhook.data?.url ?? t('webhooks.title')}
      subtitle={
        <Anchor renderRoot={(props) => <Link to="/account/webhooks" {...props} />}>{t('webhooks.backToAll')}</Anchor>
      }
    >
      <QueryError query={webhook} />
      {webhook.data === undefined ? (
        webhook.error === null ? (
          <Skeleton h={240} radius="lg" />
        ) : null
      ) : (
        <Stack gap="lg">
          <WebhookSettings webhook={webhook.data} />
          <WebhookDeliveries webhook={webhook.data} />
        </Stack>
      )}
    </Page>
  );
}

function WebhookSettings({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  const events = webhook.events.length === 0 ? t('webhooks.allEvents') : formatNames(webhook.events);
  return (
    <SettingsSection title={t('webhooks.settings')} aside={<WebhookState webhook={webhook} />}>
      <DescriptionList
        facts={[
          [t('webhooks.events'), events],
          [t('webhooks.preset'), t(`webhooks.presets.${webhook.preset}`)],
          ...(webhook.description === '' ? [] : [[t('webhooks.description'), webhook.description] as const]),
          [t('webhooks.waiting'), String(webhook.pending)],
        ]}
      />
      {webhook.failing_since === null ? null : (
        <Text size="sm" c="light-dark(var(--mantine-color-red-9), var(--mantine-color-red-4))" mt="xs">
          {t('webhooks.failsSince')} <RelativeTime at={webhook.failing_since} never="" />
        </Text>
      )}
      <WebhookActions webhook={webhook} />
    </SettingsSection>
  );
}

function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const [isEditing, setIsEditing] = useState(false);
  const [secret, setSecret] = useState<string>();
  const params = { id: String(webhook.id) };
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const test = useMutation({
    mutationFn: () => callApi(endpoints.testWebhook, { params }),
    onSuccess: async () => {
      toasts.success(t('webhooks.tested'));
      await refresh();
    },
  });
  const toggle = useMutation({
    mutationFn: () => callApi(endpoints.updateWebhook, { params, body: { enabled: !webhook.enabled } }),
    onSuccess: refresh,
  });
  const rotate = async (): Promise<void> => {
    setSecret((await callApi(endpoints.rotateWebhookSecret, { params })).data.secret);
  };
  const remove = async (): Promise<void> => {
    await callApi(endpoints.deleteWebhook, { params });
    await navigate({ to: '/account/webhooks' });
    await refresh();
  };
  return (
    <>
      <ErrorAlert error={test.error ?? toggle.error} />
      <Group mt="md" gap="xs">
        <Button variant="light" loading={test.isPending} disabled={!webhook.enabled} onClick={() => test.mutate()}>
          {t('webhooks.test')}
        </Button>
        <Button variant="default" onClick={() => setIsEditing(true)}>
          {t('app:edit')}
        </Button>
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
          {t(webhook.enabled ? 'webhooks.disable' : 'webhooks.enable')}
        </Button>
        <ConfirmDialog
          title={t('webhooks.rotateTitle')}
          confirmLabel={t('webhooks.rotate')}
          onConfirm={rotate}
          trigger={(open) => (
            <Button variant="default" onClick={open}>
              {t('webhooks.rotate')}
            </Button>
          )}
        >
          {t('webhooks.rotateText')}
        </ConfirmDialog>
        <ConfirmDialog
          title={t('webhooks.removeTitle')}
          confirmLabel={t('webhooks.remove')}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="subtle" color="red" onClick={open}>
              {t('webhooks.remove')}
            </Button>
          )}
        >
          {t('webhooks.removeText')}
        </ConfirmDialog>
      </Group>
      {isEditing ? <WebhookDialog webhook={webhook} onClose={() => setIsEditing(false)} /> : null}
      {secret === undefined ? null : <WebhookSecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

const STATUS_COLOR: Readonly<Record<DeliveryStatus, string>> = { pending: 'blue', delivered: 'teal', failed: 'red' };
const REPLAY_HOURS = [1, 24, 72] as const;

/** Deliveries of a webhook, newest first, with request and response; refreshes automatically. */
function WebhookDeliveries({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  const [status, setStatus] = useState<DeliveryStatus>();
  // `next` cursors of the previous pages.
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
      <QueryError query={deliveries} />
      {deliveries.data?.deliveries.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('webhooks.noDeliveries')}
        </Text>
      ) : (
        <DataTable
          label={formatLabelled(t('webhooks.deliveries'), webhook.url)}
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
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          rightSection={<IconChevronDown size={14} />}
          disabled={!webhook.enabled}
          loading={replay.isPending}
        >
          {t('webhooks.replay')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {REPLAY_HOURS.map((hours) => (
          <Menu.Item key={hours} onClick={() => replay.mutate(hours)}>
            {t('webhooks.replayHours', { hours })}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
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
