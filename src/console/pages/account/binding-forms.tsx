import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { bindMessaging, bindPhone, sendPhoneCode } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { selfQuery } from '../../data/queries.ts';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';

/** A number, then the code that was sent to it. */
export function PhoneForm() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const notices = useNotices();
  const [phone, setPhone] = useState('');
  const [code, setCode] = useState('');
  const number = phone.replace(/[\s()-]/g, '');
  const send = useMutation({
    mutationFn: () => call(sendPhoneCode, { body: { phone: number } }),
    onSuccess: () => notices.done(t('profile.phoneSent')),
  });
  const bind = useMutation({
    mutationFn: () => call(bindPhone, { body: { phone: number, code: code.trim() } }),
    onSuccess: async () => {
      setCode('');
      setPhone('');
      send.reset();
      notices.done(t('profile.phoneDone'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack gap="sm">
      <Row
        label={t('profile.phoneLabel')}
        hint={t('profile.phoneHint')}
        type="tel"
        complete="tel"
        value={phone}
        onChange={setPhone}
        action={t('profile.sendCode')}
        busy={send.isPending}
        onSubmit={send.mutate}
      />
      {send.isSuccess ? (
        <Row
          label={t('profile.code')}
          type="text"
          complete="one-time-code"
          value={code}
          onChange={setCode}
          action={t('profile.bind')}
          busy={bind.isPending}
          onSubmit={bind.mutate}
        />
      ) : null}
      <Failure error={bind.error ?? send.error} />
    </Stack>
  );
}

export function MessagingForm() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const notices = useNotices();
  const [code, setCode] = useState('');
  const bind = useMutation({
    mutationFn: () => call(bindMessaging, { body: { code: code.trim() } }),
    onSuccess: async () => {
      setCode('');
      notices.done(t('profile.messagingDone'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack gap="sm">
      <Row
        label={t('profile.code')}
        hint={t('profile.messagingHint')}
        type="text"
        complete="off"
        value={code}
        onChange={setCode}
        action={t('profile.bind')}
        busy={bind.isPending}
        onSubmit={bind.mutate}
      />
      <Failure error={bind.error} />
    </Stack>
  );
}

interface RowProps {
  readonly label: string;
  readonly hint?: string;
  readonly type: 'tel' | 'text';
  readonly complete: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly action: string;
  readonly busy: boolean;
  readonly onSubmit: () => void;
}

function Row({ label, hint, type, complete, value, onChange, action, busy, onSubmit }: RowProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label={label}
          description={hint}
          type={type}
          autoComplete={complete}
          required
          withAsterisk={false}
          w={{ base: '100%', xs: 280 }}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={busy} disabled={value.trim() === ''}>
          {action}
        </Button>
      </Group>
    </form>
  );
}
