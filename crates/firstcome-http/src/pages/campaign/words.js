// What the page says, in English and Korean. A number in {braces} is put in.
const WORDS = {
  en: {
    language: "한국어", languageCode: "ko",
    checking: "Checking …",
    draft: "The opening time has not been decided yet.",
    scheduled: "Opens in",
    open: "It is open.",
    soldOut: "Sold out.",
    paused: "Paused for a moment. This page goes on by itself.",
    closed: "This is over.",
    noAccess: "Please come here from the shop: its link says who you are.",
    ended: "Your visit has ended. Please come here from the shop again.",
    notFound: "There is no such page.",
    readOnly: "To take part, come here from the shop.",
    toShop: "To the shop",
    openingAt: "on {date} ({zone}), by the server's clock",
    days: "{n} d", you: "You are {name}",
    left: "{left} of {all} left", seatsLeft: "{left} seats left",
    choosePool: "Choose", poolLeft: "{left} left",
    claim: "Get one now", claimSoon: "Not open yet", claimBusy: "One moment …",
    wait: "Join the waitlist",
    waitNote: "What comes free goes to who is next. Waiting: {n}",
    rank: "You are number {rank}", rankTitle: "You got one", seatTitle: "Yours",
    receipt: "Receipt", campaign: "Campaign", pool: "For", time: "Time", name: "Name", number: "Number", seatName: "Seat",
    copy: "Copy the receipt", copied: "Copied", save: "Save the receipt",
    code: "Your code", copyCode: "Copy the code", codeHidden: "The code is being fetched …",
    cancelled: "Cancelled on {date}",
    placeTitle: "Waitlist", ahead: "{n} people are in front of you.", aheadOne: "One person is in front of you.",
    aheadNone: "You are next.", forMany: "You wait for {n}.", passedOver: "Too little is free for what you wish; you keep your place.",
    leave: "Leave the waitlist", offer: "One is reserved for you.", offerMany: "{n} are reserved for you.",
    offerUntil: "Still {time}", take: "Take it",
    hall: "Choose your seats", mapLabel: "Seat map. Arrow keys go from seat to seat, Enter takes a seat or gives it back, plus and minus zoom.",
    zoomIn: "Larger", zoomOut: "Smaller", zoomAll: "All",
    free: "free", taken: "taken", mine: "yours", notForSale: "not for sale", asking: "asking …",
    rowIs: "row {row}", bestCount: "Seats", bestGrade: "Category", bestGo: "Find the best seats", anyGrade: "Any",
    basket: "Your basket", basketEmpty: "Nothing yet. Choose seats on the map.", basketLeft: "Reserved for {time}",
    sum: "Total {sum}", pay: "Go to payment", payNote: "Pay in the shop that you came from. Its number for these: {hold}",
    giveBack: "Give all back", giveBackOne: "Give {name} back", add: "Add one",
    expired: "The time ended, and the seats are free again.", over: "no longer reserved",
    live: "Live.", polling: "Updated every few seconds.", lost: "No connection. What you see may be old; the page keeps trying.",
    refused: {
      sold_out: "Sold out.", closed: "This is over.", paused: "Paused for a moment.", not_open: "Not open yet.",
      limit_reached: "You have as many as one person may have.", barred: "You cannot take part here.",
      not_admitted: "You cannot take part here.", not_eligible: "You cannot take part here.",
      already_cancelled: "You gave yours back; one cannot come twice.", unit_taken: "Somebody else was faster.",
      orphan_left: "This would leave a single seat empty. Please choose its neighbour.",
      too_many_holds: "Too many attempts. Please wait a while.", has_hold: "You already have a basket.",
      hold_expired: "The time ended.", too_many_requests: "Too many attempts at once. Please wait a moment.",
      waitlist_full: "The waitlist is full.", no_waitlist: "There is no waitlist.", too_many_units: "That is too many.",
      not_for_sale: "This seat is not for sale.", busy: "Very many people are here. Please try again.",
      unavailable: "The server does not answer right now. Please try again.", hold_released: "These seats are given back already.",
    },
    failed: "That did not work: {why}",
  },
  ko: {
    language: "English", languageCode: "en",
    checking: "확인 중 …",
    draft: "시작 시각이 아직 정해지지 않았습니다.",
    scheduled: "시작까지",
    open: "지금 참여할 수 있습니다.",
    soldOut: "매진되었습니다.",
    paused: "잠시 멈췄습니다. 이 화면은 저절로 이어집니다.",
    closed: "종료되었습니다.",
    noAccess: "쇼핑몰의 링크로 들어와 주세요. 그 링크로 본인을 확인합니다.",
    ended: "접속 시간이 끝났습니다. 쇼핑몰에서 다시 들어와 주세요.",
    notFound: "없는 페이지입니다.",
    readOnly: "참여하려면 쇼핑몰에서 들어와 주세요.",
    toShop: "쇼핑몰로 가기",
    openingAt: "{date} ({zone}), 서버 시각 기준",
    days: "{n}일", you: "{name} 님",
    left: "{all}개 중 {left}개 남음", seatsLeft: "남은 좌석 {left}석",
    choosePool: "선택", poolLeft: "{left}개 남음",
    claim: "지금 신청하기", claimSoon: "아직 시작 전입니다", claimBusy: "잠시만요 …",
    wait: "대기자 명단에 올리기",
    waitNote: "자리가 나면 순서대로 돌아갑니다. 대기 {n}명",
    rank: "{rank}번째입니다", rankTitle: "신청되었습니다", seatTitle: "내 좌석",
    receipt: "확인증", campaign: "행사", pool: "구분", time: "시각", name: "이름", number: "순번", seatName: "좌석",
    copy: "확인증 복사", copied: "복사했습니다", save: "확인증 저장",
    code: "내 코드", copyCode: "코드 복사", codeHidden: "코드를 가져오는 중 …",
    cancelled: "{date}에 취소됨",
    placeTitle: "대기자 명단", ahead: "앞에 {n}명이 있습니다.", aheadOne: "앞에 한 명이 있습니다.",
    aheadNone: "다음 차례입니다.", forMany: "{n}개를 기다립니다.", passedOver: "원하는 만큼 나지 않았습니다. 순서는 그대로입니다.",
    leave: "대기 취소", offer: "한 개를 맡아 두었습니다.", offerMany: "{n}개를 맡아 두었습니다.",
    offerUntil: "남은 시간 {time}", take: "받기",
    hall: "좌석 선택", mapLabel: "좌석 배치도. 화살표 키로 좌석을 옮기고, 엔터로 선택하거나 돌려줍니다. 더하기와 빼기로 확대합니다.",
    zoomIn: "확대", zoomOut: "축소", zoomAll: "전체",
    free: "선택 가능", taken: "선택 불가", mine: "내 좌석", notForSale: "판매 안 함", asking: "확인 중 …",
    rowIs: "{row}열", bestCount: "좌석 수", bestGrade: "등급", bestGo: "좋은 좌석 찾기", anyGrade: "모두",
    basket: "선택한 좌석", basketEmpty: "아직 없습니다. 배치도에서 좌석을 고르세요.", basketLeft: "남은 시간 {time}",
    sum: "합계 {sum}", pay: "결제하러 가기", payNote: "들어오신 쇼핑몰에서 결제하세요. 예약 번호: {hold}",
    giveBack: "모두 돌려주기", giveBackOne: "{name} 돌려주기", add: "하나 추가",
    expired: "시간이 끝나 좌석이 다시 풀렸습니다.", over: "더는 맡아 두지 않습니다",
    live: "실시간", polling: "몇 초마다 새로 고칩니다.", lost: "연결이 끊겼습니다. 화면이 최신이 아닐 수 있으며, 계속 다시 시도합니다.",
    refused: {
      sold_out: "매진되었습니다.", closed: "종료되었습니다.", paused: "잠시 멈췄습니다.", not_open: "아직 시작 전입니다.",
      limit_reached: "한 사람이 받을 수 있는 만큼 이미 받았습니다.", barred: "참여할 수 없습니다.",
      not_admitted: "참여할 수 없습니다.", not_eligible: "참여할 수 없습니다.",
      already_cancelled: "이미 취소하셨습니다. 다시 신청할 수 없습니다.", unit_taken: "다른 분이 먼저 선택했습니다.",
      orphan_left: "한 자리만 남게 됩니다. 옆 좌석을 골라 주세요.",
      too_many_holds: "시도가 너무 많습니다. 잠시 뒤에 다시 해 주세요.", has_hold: "이미 선택한 좌석이 있습니다.",
      hold_expired: "시간이 끝났습니다.", too_many_requests: "요청이 너무 잦습니다. 잠시만 기다려 주세요.",
      waitlist_full: "대기자 명단이 가득 찼습니다.", no_waitlist: "대기자 명단이 없습니다.", too_many_units: "너무 많습니다.",
      not_for_sale: "판매하지 않는 좌석입니다.", busy: "접속자가 많습니다. 다시 시도해 주세요.",
      unavailable: "서버가 응답하지 않습니다. 다시 시도해 주세요.", hold_released: "이미 돌려준 좌석입니다.",
    },
    failed: "처리하지 못했습니다: {why}",
  },
};

const LANGUAGE = "firstcome-language";

// Storage may be forbidden; then the page works without.
const keep = (storage, name, value) => {
  try { value === null ? storage().removeItem(name) : storage().setItem(name, value); } catch { /* forbidden */ }
};
const kept = (storage, name) => {
  try { return storage().getItem(name); } catch { return null; }
};
const forTab = () => sessionStorage;
const forBrowser = () => localStorage;

function firstLanguage() {
  const chosen = new URLSearchParams(location.search).get("lang") ?? kept(forBrowser, LANGUAGE);
  const wanted = [chosen, ...navigator.languages].map(tag => String(tag).slice(0, 2));
  return wanted.find(tag => tag in WORDS) ?? "en";
}

let language = firstLanguage();

// Gives a text with values put in.
function say(key, values = {}) {
  return WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// Says a refusal for people; what has no words of ours is said as the server says it.
const refusal = problem => WORDS[language].refused[problem.outcome] ?? say("failed", { why: problem.detail ?? problem.title ?? problem.outcome });

const number = value => new Intl.NumberFormat(language).format(value);

const moment = text => new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "medium" }).format(new Date(text));

const zone = () => new Intl.DateTimeFormat(language, { timeZoneName: "long" }).formatToParts(new Date()).find(part => part.type === "timeZoneName")?.value ?? "";

// Gives an amount in minor units as money.
function money(minor, currency) {
  try {
    const format = new Intl.NumberFormat(language, { style: "currency", currency });
    return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return `${number(minor)} ${currency}`;
  }
}

// Gives a time that is left, as minutes and seconds, with hours and days where there are some.
function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = value => String(value).padStart(2, "0");
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24;
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (days > 0) return `${say("days", { n: days })} ${two(hours)}:${rest}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}
