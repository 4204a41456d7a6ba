import { account } from './account';
import { admin } from './admin';
import { alarms } from './alarms';
import { audit } from './audit';
import { call } from './call';
import { calls } from './calls';
import { common } from './common';
import { notes } from './notes';
import { now } from './now';
import { problems } from './problems';
import { quality } from './quality';
import { retention } from './retention';
import { sensors } from './sensors';
import { sites } from './sites';
import { trunks } from './trunks';
import { users } from './users';
import { warrants } from './warrants';

export const en = {
  ...common, ...notes, ...calls, ...call, ...now, ...alarms, ...problems, ...quality, ...users, ...trunks, ...retention, ...sensors, ...sites, ...audit, ...admin, ...account, ...warrants,
};
