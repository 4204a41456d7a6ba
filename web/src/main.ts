import { mount } from 'svelte';
import App from './App.svelte';
import { followLinks } from './lib/address.svelte';
import { listen } from './lib/keys.svelte';
import { isOfWarrants } from './lib/routes';
import { present } from './lib/session.svelte';
import { begin } from './i18n';
import './layout/style.css';

followLinks();
listen();
// Officers and auditors are nobody to the console.
const known = isOfWarrants(location.pathname) ? null : present.begin();
await begin();
mount(App, { target: document.getElementById('page')! });
await known;
